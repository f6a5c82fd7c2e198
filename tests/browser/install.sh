#!/bin/sh
# Make sure there is a Chrome or Chromium for the browser tests; says what it did, and never fails by itself:
# the tests fail loudly where no browser can be had, unless CALIB_SKIP_BROWSER=1 asks to skip them.
for name in chromium chromium-browser google-chrome google-chrome-stable chrome; do
    if command -v "$name" >/dev/null 2>&1; then
        echo "browser for the tests: $(command -v "$name")"
        exit 0
    fi
done
if [ -n "$CALIB_CHROME" ] || [ -n "$CALIB_SKIP_BROWSER" ] || [ -d "/Applications/Google Chrome.app" ]; then
    exit 0
fi
if command -v apt-get >/dev/null 2>&1; then
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    echo "installing Debian's chromium for the browser tests"
    if $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -qq -y chromium >/dev/null; then
        exit 0
    fi
fi
echo "no browser could be installed: the browser tests will fail; install Chrome or Chromium, set CALIB_CHROME to its" \
    "path, or set CALIB_SKIP_BROWSER=1 to leave them out"
