package desktop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"hob/platform/host/desktop/apps"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type openIn struct {
	Name string `json:"name" jsonschema:"as the menu shows it"`
	Item string `json:"item,omitempty" jsonschema:"a file, or an http, https or mailto address, to open in it"`
}

type appOut struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func (d Deps) openApp() tools.Tool {
	return tools.New(tools.Def[openIn]{
		Spec: tools.Spec{
			Name: "open_app", Category: "desktop", Effects: tools.Exec,
			Description: "Open an installed application, as a click in the menu would, or open a file or an address in it.",
			Keywords:    "open start launch run application app program firefox browser calculator editor music spotify",
		},
		Summary: func(in openIn) string {
			if in.Item != "" {
				return "Open " + textnorm.Ellipsize(in.Item, 300) + " with " + textnorm.Ellipsize(in.Name, 100)
			}
			return "Open " + textnorm.Ellipsize(in.Name, 100)
		},
		Judge: func(ctx context.Context, in openIn) tools.CallAssessment {
			a, err := d.Apps.Find(ctx, in.Name)
			if err != nil {
				return tools.CallAssessment{Refused: searchError(err)}
			}
			if in.Item != "" {
				return d.judgedItem(a, in.Item)
			}
			j := tools.CallAssessment{Effects: tools.Exec, Exact: appBinding(a), Listed: isMenuEquivalent(a)}
			switch {
			case j.Listed:
				j.Why = "it opens " + a.Name + ", without a file"
			case !a.Shared:
				j.Why = "it starts " + appCommandLine(a) + ", which is installed for your account only"
			default:
				j.Why = "it starts " + appCommandLine(a)
			}
			return j
		},
		Run: func(ctx context.Context, c tools.Call, in openIn) (tools.Result, error) {
			a, err := d.Apps.Find(ctx, in.Name)
			if err != nil {
				return tools.Result{}, searchError(err)
			}
			item, want := "", appBinding(a)
			if in.Item != "" {
				if item, err = d.resolveItem(in.Item); err != nil {
					return tools.Result{}, err
				}
				want = exactItem(a, item)
			}
			if want != c.Exact {
				return tools.Result{}, tools.Errorf(tools.Conflict, "%q now means a different application or file than the approved one; nothing was started", tools.Clean(in.Name))
			}
			if err := d.Apps.Start(ctx, a, item); err != nil {
				return tools.Result{}, classifyError(err)
			}
			if item != "" {
				return tools.Result{Source: provenance.Tool, Text: "Opened " + item + " with " + a.Name + ".", Data: appOut{a.ID, a.Name}}, nil
			}
			return tools.Result{Source: provenance.Tool, Text: "Opened " + a.Name + ".", Data: appOut{a.ID, a.Name}}, nil
		},
	})
}

// searchError converts the error of a search to a tool error. Most of these errors suggest a valid
// name.
func searchError(err error) error {
	err = classifyError(err)
	if tools.CodeOf(err) == tools.Failed {
		return tools.Errorf(tools.InvalidArguments, "%w", err)
	}
	return err
}

func appBinding(a apps.App) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v", a.ID, a.File, a.Command, a.Terminal))
	return a.ID + " " + hex.EncodeToString(sum[:8])
}

func appCommandLine(a apps.App) string {
	if len(a.Command) == 0 {
		return a.Name
	}
	return textnorm.Ellipsize(strings.Join(a.Command, " "), 200)
}

// isMenuEquivalent reports whether starting the app has the same effect as a click in the menu.
// This is the case if an administrator installed the app, and if starting it neither stops other
// programs nor elevates privileges.
func isMenuEquivalent(a apps.App) bool {
	if !a.Shared {
		return false
	}
	return !slices.ContainsFunc(a.Command, func(w string) bool {
		switch base := path.Base(w); base {
		case "sudo", "pkexec", "su", "sh", "bash", "zsh", "systemctl", "loginctl", "shutdown", "poweroff", "reboot", "halt", "dbus-send", "gdbus", "busctl":
			return true
		default:
			return strings.Contains(base, "logout") || strings.Contains(base, "session-quit")
		}
	})
}

type listAppsIn struct {
	Query string `json:"query,omitempty" jsonschema:"part of the name"`
}

// listOut is the Data of a list_apps result.
type listOut struct {
	Apps []appOut `json:"apps"`
	More int      `json:"more,omitempty"`
}

// maxListed is the maximum number of applications in a list.
const maxListed = 200

func (d Deps) listApps() tools.Tool {
	return tools.New(tools.Def[listAppsIn]{
		Spec: tools.Spec{
			Name: "list_apps", Category: "desktop", Effects: tools.Read,
			Description: "List the applications that are installed, with the names that open_app takes.",
			Keywords:    "installed applications apps programs which software have",
		},
		Summary: func(listAppsIn) string { return "List the applications" },
		Run: func(ctx context.Context, _ tools.Call, in listAppsIn) (tools.Result, error) {
			all, err := d.Apps.List(ctx)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			out := []appOut{}
			var lines []string
			query := strings.ToLower(strings.TrimSpace(in.Query))
			more := 0
			for _, a := range all {
				switch {
				case !strings.Contains(strings.ToLower(a.Name+" "+a.ID), query):
				case len(out) == maxListed:
					more++
				default:
					out = append(out, appOut{a.ID, a.Name})
					lines = append(lines, "- "+textnorm.Ellipsize(a.Name, 100))
				}
			}
			switch {
			case len(all) == 0:
				return tools.Result{Source: provenance.Tool, Text: "No application with a menu entry is installed.", Data: listOut{Apps: []appOut{}}}, nil
			case len(out) == 0:
				return tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("No match among the %d applications.", len(all)), Data: listOut{Apps: []appOut{}}}, nil
			case more > 0:
				lines = append(lines, fmt.Sprintf("(%d more; search for part of the name)", more))
			}
			return tools.Result{Source: provenance.Tool, Text: strings.Join(lines, "\n"), Data: listOut{out, more}}, nil
		},
	})
}
