package tray

// Panel is what shows icons here.
type Panel struct {
	Host bool // there is one, and it takes icons
	Item bool // the panel shows the icon of the given process
	Menu bool // and its menu answers
}
