// Package xwin speaks with the X server of the session: it connects, lists
// windows and says whose they are, and knows the clipboard. It is of Linux, and
// empty elsewhere. Its callers are the packages beside it. A connection is made
// for one thing and closed after it, save that of a text that is offered to others
// (Offer).
package xwin
