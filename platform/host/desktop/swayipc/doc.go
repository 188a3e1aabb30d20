// Package swayipc talks to the Wayland compositor sway over its socket (sway-ipc(7)): it lists
// windows, reports which one has the keyboard focus, and brings one to the front. Other
// compositors offer no such interface. It is empty outside of Linux; only the neighboring
// packages use it.
package swayipc
