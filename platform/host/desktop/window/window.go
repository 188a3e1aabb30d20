// Package window lists the windows of the desktop and the programs that own them. Callers decide
// what may be done in a window. Kind helps them to decide.
package window

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrUnknown means that this process cannot list the windows.
var ErrUnknown = errors.New("cannot list the windows of this desktop")

// Window is a visible window.
type Window struct {
	ID         uint64
	Title      string
	App        string // class of the window, or name of its program, in lower case
	Program    string // path of the program; "" if it is unknown
	PID        int    // 0 means unknown
	X, Y, W, H int
	Active     bool // the window has the keyboard focus
	Notice     bool // a notification, or the desktop background
}

// Options of New; the zero value is useful.
type Options struct {
	Getenv func(string) string
	Wait   time.Duration // default 5 s
}

// Windows lists the windows of the desktop.
type Windows struct{ opt Options }

// New returns a Windows. It connects to nothing yet.
func New(o Options) *Windows {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Wait <= 0 {
		o.Wait = 5 * time.Second
	}
	return &Windows{o}
}

// List lists the windows, from the front to the back.
func (w *Windows) List(ctx context.Context) ([]Window, error) {
	ctx, cancel := context.WithTimeout(ctx, w.opt.Wait)
	defer cancel()
	return w.listWindows(ctx)
}

// FindAt returns the top window at a point of the screen.
func FindAt(list []Window, x, y int) (Window, bool) {
	i := slices.IndexFunc(list, func(w Window) bool { return x >= w.X && y >= w.Y && x < w.X+w.W && y < w.Y+w.H })
	if i < 0 {
		return Window{}, false
	}
	return list[i], true
}

// Focused returns the window with the keyboard focus.
func Focused(list []Window) (Window, bool) {
	i := slices.IndexFunc(list, func(w Window) bool { return w.Active })
	if i < 0 {
		return Window{}, false
	}
	return list[i], true
}

// Kind is the category of a window, for decisions about what may be done in it.
type Kind uint8

// Window kinds.
const (
	Plain    Kind = iota
	Terminal      // typed text is executed
	Browser       // its title is the title of the active page
	Notice        // a notification, which may be an approval request from Hob
	Prompt        // a prompt for a password or for permissions
)

// Kind returns the category of a window according to its class and program. Programs set both
// themselves and can fake them.
func (w Window) Kind() Kind {
	names := append(strings.Fields(w.App), strings.ToLower(strings.TrimSuffix(filepath.Base(w.Program), ".exe")))
	has := func(list ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			return slices.ContainsFunc(list, func(l string) bool { return n == l || strings.HasPrefix(n, l+"-") || strings.Contains(n, "."+l) })
		})
	}
	switch {
	case w.Notice || has("gnome-shell", "plasmashell", "xfce4-panel", "mate-panel", "lxqt-panel", "dunst", "mako", "xfce4-notifyd", "notify-osd", "notification-daemon", "mate-notification-daemon", "plasma_waitforname", "swaync", "usernotificationcenter", "notificationcenter", "controlcenter", "dock"):
		return Notice
	case has("xdg-desktop-portal", "polkit", "polkit-gnome", "polkit-kde", "lxpolkit", "gcr-prompter", "pinentry", "ksshaskpass", "ssh-askpass", "seahorse", "consent", "securityagent", "loginwindow", "universalaccessauthwarn", "coreservicesuiagent", "coreautha", "credentialuibroker", "gksu", "kdesu", "xfce-polkit"):
		return Prompt
	case has("xterm", "uxterm", "urxvt", "rxvt", "gnome-terminal", "gnome-terminal-server", "konsole", "xfce4-terminal", "mate-terminal", "lxterminal", "alacritty", "kitty", "foot", "wezterm", "ghostty", "terminator", "tilix", "st", "ptyxis", "kgx", "console", "terminal", "iterm2", "windowsterminal", "conhost", "cmd", "powershell", "pwsh", "qterminal", "guake", "yakuake", "tilda", "hyper", "warp"):
		return Terminal
	case has("firefox", "chromium", "chrome", "google-chrome", "brave", "brave-browser", "msedge", "microsoft-edge", "edge", "safari", "opera", "vivaldi", "epiphany", "falkon", "librewolf", "konqueror", "navigator", "arc", "zen"):
		return Browser
	}
	return Plain
}
