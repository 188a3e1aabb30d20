package tray

// Panel describes the program that shows icons.
type Panel struct {
	Host bool // a panel runs and accepts icons
	Item bool // the panel shows the icon of the given process
	Menu bool // the icon's menu responds
}
