// Package xwin talks to the X server of the session: it connects, lists windows with their
// programs, and accesses the clipboard. It is empty outside of Linux; only the neighboring
// packages use it. Each connection is opened for one operation and closed after it, except for
// a text that is offered to other programs (Offer).
package xwin
