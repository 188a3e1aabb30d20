// Package xwin communicates with the X server of the session. It lists windows with their programs
// and accesses the clipboard. It is empty on systems other than Linux. Only the neighboring
// packages use it. Each connection is opened for one operation and closed after it, except for a
// text that is offered to other programs (Offer).
package xwin
