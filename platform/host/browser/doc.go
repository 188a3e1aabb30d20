// Package browser controls a Chromium-based browser (Chrome, Chromium, Edge or Brave)
// through the Chrome DevTools Protocol, with a separate profile for Hob: Chrome allows no
// remote control of the default profile, and the model must not see the user's pages. The
// user signs in, in the window, to the sites that Hob may use.
//
// All network traffic goes through a proxy of this package (proxy.go), which connects to
// public addresses only. Commands go through a pipe, so that no other process can send
// any. Pages are untrusted: messages have size limits, calls have deadlines, dialogs are
// answered, and page.js runs in an isolated world, separate from the page's scripts.
//
// It has its own client instead of chromedp, which only the tests use: chromedp keeps
// whole DOM trees, unlimited logs, and messages of any size. The package applies no
// policy: the guard decides what may be opened, clicked and run.
package browser
