// Package permission reports whether macOS has granted the permissions that Hob can use to this
// process, where to grant them, and to which program. It requests no permissions, so macOS shows no
// dialog. macOS grants permissions to the responsible process. The daemon must therefore check its
// own permissions: those of a terminal do not apply to a daemon started by the session, and vice
// versa.
package permission

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hob/platform/host/system/autostart"
)

// Permission is a macOS permission that Hob can use, and whether it is granted.
type Permission struct {
	ID   string `json:"id"`
	Name string `json:"name"` // name as shown in System Settings
	Why  string `json:"why"`
	// Pane is the URL of the list in System Settings.
	Pane  string `json:"pane"`
	Given bool   `json:"given"`
	// Restart is true if the permission takes effect only after a restart of the process.
	Restart bool `json:"restart,omitempty"`
	// For is the program that the user must enable in the list.
	For string `json:"for"`
}

// Options of List; all are required.
type Options struct {
	Home   string // the user's home folder
	Getenv func(string) string
	// Trusted and MayCapture query the system. If one returns an error, List omits its permission.
	Trusted, MayCapture func() (bool, error)
}

const pane = "x-apple.systempreferences:com.apple.preference.security?"

// ScreenPane is the settings pane for screen recording.
const ScreenPane = pane + "Privacy_ScreenCapture"

// listPermissions checks each permission whose state can be read without requesting it.
func listPermissions(o Options) (out []Permission) {
	who := Responsible(o.Getenv)
	add := func(p Permission, given bool, err error) {
		if err == nil {
			p.Given, p.For, p.Pane = given, who, pane+p.Pane
			out = append(out, p)
		}
	}
	trusted, err := o.Trusted()
	add(Permission{ID: "accessibility", Name: "Accessibility", Pane: "Privacy_Accessibility", Why: "Needed to read windows, click and type when you ask Hob to."}, trusted, err)
	capture, err := o.MayCapture()
	add(Permission{ID: "screen", Name: "Screen Recording", Pane: "Privacy_ScreenCapture", Why: "Needed to take screenshots when you ask Hob to.", Restart: true}, capture, err)
	disk, err := fullDisk(o.Home)
	add(Permission{ID: "disk", Name: "Full Disk Access", Pane: "Privacy_AllFiles", Why: "Needed to read Messages and Mail on this Mac.", Restart: true}, disk, err)
	return out
}

// fullDisk opens files that require Full Disk Access. An error means that none of the files exists,
// so the state is unknown. It does not open the Messages database, because opening and closing it
// would release the locks that the channel holds on it.
func fullDisk(home string) (given bool, err error) {
	for _, app := range []string{"Messages", "Mail"} {
		if _, err = os.ReadDir(filepath.Join(home, "Library", app)); err == nil || errors.Is(err, fs.ErrPermission) {
			return err == nil, nil
		}
	}
	return false, err
}

// launchdLabels returns the labels of jobs that start Hob: of hob service install, and of Homebrew.
func launchdLabels() []string { return []string{autostart.Label, "homebrew.mxcl.hob"} }

// Responsible returns the name of the program that needs the permission: the terminal
// that started Hob, or Hob itself if the session started it.
func Responsible(getenv func(string) string) string {
	if slices.Contains(launchdLabels(), getenv("XPC_SERVICE_NAME")) {
		return "Hob"
	}
	if getenv("SSH_CONNECTION") != "" {
		return "sshd-keygen-wrapper"
	}
	t := getenv("TERM_PROGRAM")
	if name, ok := map[string]string{
		"Apple_Terminal": "Terminal", "iTerm.app": "iTerm", "vscode": "Visual Studio Code", "WarpTerminal": "Warp", "ghostty": "Ghostty",
		"WezTerm": "WezTerm", "Hyper": "Hyper", "rio": "Rio", "Tabby": "Tabby", "zed": "Zed",
	}[t]; ok {
		return name
	}
	switch {
	case getenv("KITTY_WINDOW_ID") != "":
		return "kitty"
	case getenv("ALACRITTY_WINDOW_ID") != "":
		return "Alacritty"
	case t != "" && t != "tmux" && t != "screen":
		return t
	}
	return "the terminal that started Hob"
}
