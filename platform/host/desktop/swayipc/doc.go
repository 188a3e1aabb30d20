// Package swayipc communicates with the Wayland compositor sway over its socket (sway-ipc(7)). It
// lists windows, reports which window has the keyboard focus, and brings a window to the front.
// Other compositors do not provide such an interface. The package is empty on systems other than
// Linux. Only packages below platform/host/desktop use it.
package swayipc
