// Draws the figures that are seen; those of a folded section are drawn when it is opened.
const drawn = new WeakSet();
function draw() {
  for (const place of document.querySelectorAll(".chart")) {
    if (drawn.has(place) || !place.offsetWidth) continue;
    drawn.add(place);
    const figure = JSON.parse(place.nextElementSibling.textContent);
    place.style.height = `${figure.layout.height}px`;
    Plotly.newPlot(place, figure.data, figure.layout, { displayModeBar: false, responsive: true });
  }
}
document.addEventListener("toggle", draw, true);
draw();
