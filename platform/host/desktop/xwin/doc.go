// Package xwin communicates with the X server of the session. It lists windows with their programs
// and accesses the clipboard. It is empty on systems other than Linux. Only packages below
// platform/host/desktop use it. Each connection is opened for one operation and then closed, except
// the connection that offers text to other programs (Offer).
package xwin
