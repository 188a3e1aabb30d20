//go:build unix

package badinput

// spaceVar tells a test process that it runs in a mount namespace of its own.
const spaceVar = "HOB_BADINPUT_SPACE"
