"""The documentation site: pages that are made from the code, and the pictures of the app. ``make docs`` builds it."""
