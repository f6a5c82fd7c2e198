/* Browsers start no worker for a page opened from disk. The search's worker then runs in a hidden frame instead. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      inside.postMessage = (data) => answer(structuredClone(data))
      this.ready = new Promise((resolve) => {
        const script = inside.document.createElement("script")
        script.onload = resolve
        script.src = url
        inside.document.body.append(script)
      })
      this.postMessage = (data) =>
        this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
    terminate() {}
  }
