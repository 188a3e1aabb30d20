package tray

// Panel is what shows icons here.
type Panel struct {
	Host bool // there is one, and it takes icons
	Item bool // the icon of the process that was asked for is among them
	Menu bool // and its menu answers
}
