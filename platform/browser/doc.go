// Package browser drives a Chromium of the owner's (Chrome, Chromium, Edge or
// Brave) through the Chrome DevTools Protocol, with a profile of Hob's own: Chrome
// takes no remote control of a person's usual profile, and no page of that one is
// any business of a model's. The owner signs in, in the window, to what Hob may use.
//
// What the browser fetches goes through a proxy of this package (proxy.go), which
// reaches public addresses alone; its commands go through a pipe, so that no other
// process can give it any. What a page says is hostile: every message has a bound,
// every call a deadline, dialogs are answered, and nothing of the page's own
// scripts is trusted with what is read (page.js runs in a world of its own).
//
// It is a client of its own, and not chromedp, which the tests use: that one keeps
// whole trees of the pages, what they log without a bound, and messages of any
// size. The package knows nothing of policy: what may be opened, clicked and run
// is for the guard to say.
package browser
