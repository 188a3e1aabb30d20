// Package swayipc speaks with the Wayland compositor sway over its socket
// (sway-ipc(7)): it lists windows, says which one has the keyboard, and brings one
// to the front. Other compositors tell no program of that. It is of Linux, and empty
// elsewhere; its callers are the packages beside it.
package swayipc
