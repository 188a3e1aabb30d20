package desktop

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"hob/platform/host/desktop/input"
	"hob/platform/host/desktop/window"
	"hob/platform/provenance"
	"hob/platform/text/lazyregexp"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Windows lists the desktop's windows; *window.Windows implements it.
type Windows interface {
	List(ctx context.Context) ([]window.Window, error)
}

// InputController types and clicks; *input.InputController implements it.
type InputController interface {
	Type(ctx context.Context, w window.Window, text string, ok input.Check) error
	Press(ctx context.Context, w window.Window, chord []string, ok input.Check) error
	Click(ctx context.Context, w window.Window, x, y int, button string, twice bool, ok input.Check) error
	Focus(ctx context.Context, w window.Window, ok input.Check) error
}

type listWindowsIn struct{}

type windowOut struct {
	ID     uint64 `json:"id"`
	Title  string `json:"title"`
	App    string `json:"app,omitempty"`
	X      int    `json:"x"`
	Y      int    `json:"y"`
	W      int    `json:"width"`
	H      int    `json:"height"`
	Active bool   `json:"active,omitempty"`
}

type windowsOut struct {
	Windows []windowOut `json:"windows"`
}

func (d Deps) listWindows() tools.Tool {
	return tools.New(tools.Def[listWindowsIn]{
		Spec: tools.Spec{
			Name: "list_windows", Category: "desktop", Effects: tools.Read,
			Description: "List the windows on the user's screen: titles, positions, and which one is in front.",
			Keywords:    "open windows screen which in front active focused",
		},
		Summary: func(listWindowsIn) string { return "List the windows" },
		Judge:   func(context.Context, listWindowsIn) tools.CallAssessment { return tools.CallAssessment{Private: true} },
		Run: func(ctx context.Context, _ tools.Call, _ listWindowsIn) (tools.Result, error) {
			list, err := d.Windows.List(ctx)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			out, lines := []windowOut{}, []string{}
			for _, w := range list {
				if w.Notice || w.Title == "" && w.App == "" {
					continue
				}
				out = append(out, windowOut{w.ID, w.Title, w.App, w.X, w.Y, w.W, w.H, w.Active})
				line := fmt.Sprintf("- %q (%s) at %d,%d, %dx%d, id %d", textnorm.Ellipsize(w.Title, 120), w.App, w.X, w.Y, w.W, w.H, w.ID)
				if w.Active {
					line += ", in front"
				}
				lines = append(lines, line)
			}
			if len(out) == 0 {
				return tools.Result{Source: provenance.Tool, Text: "No window is open.", Data: windowsOut{out}}, nil
			}
			return tools.Result{Text: strings.Join(lines, "\n"), Data: windowsOut{out}, Source: provenance.Outside, Origins: desktopOrigins("screen")}, nil
		},
	})
}

// findWindow finds exactly one window by its id, title or program.
func (d Deps) findWindow(ctx context.Context, name string) (window.Window, error) {
	list, err := d.Windows.List(ctx)
	if err != nil {
		return window.Window{}, classifyError(err)
	}
	want := strings.ToLower(strings.TrimSpace(name))
	if want == "" {
		return window.Window{}, tools.Errorf(tools.InvalidArguments, "name the window by a part of its title")
	}
	var found []window.Window
	for _, w := range list {
		switch {
		case fmt.Sprint(w.ID) == want:
			return w, nil
		case strings.Contains(strings.ToLower(w.Title), want), strings.Contains(w.App, want):
			found = append(found, w)
		}
	}
	switch len(found) {
	case 0:
		return window.Window{}, tools.Errorf(tools.NotFound, "no window matches %q; list_windows shows all of them", tools.Clean(textnorm.Ellipsize(name, 60)))
	case 1:
		return found[0], nil
	}
	return window.Window{}, tools.Errorf(tools.InvalidArguments, "%d windows match %q; name one by its id", len(found), tools.Clean(textnorm.Ellipsize(name, 60)))
}

// checkInputAllowed returns an error if typing and clicking in a window is not allowed. This is the
// case if the window may contain an approval request of Hob, a password prompt or, if the
// conversation contains untrusted text, a terminal.
func (d Deps) checkInputAllowed(ctx context.Context, w window.Window, tainted bool) error {
	deny := func(why string) error {
		return tools.Errorf(tools.PolicyDenied, "Hob does not type or click in this window: %s", tools.Clean(why))
	}
	exe, _ := os.Executable() // ignore the error, because an empty path does not match any window
	switch k := w.Kind(); {
	case w.PID == os.Getpid() || exe != "" && w.Program == exe:
		return deny("the window is Hob's own")
	case d.Driven != nil && w.PID != 0 && w.PID == d.Driven():
		return deny("this is the browser that the browser_... tools control; use these tools")
	case k == window.Notice:
		return deny("the window may be an approval request of Hob, which only the user may answer")
	case k == window.Prompt:
		return deny("the window asks for a password or for permissions")
	case isHobWindow(w.Title):
		return deny("the title looks like a window of Hob")
	case k == window.Browser && strings.TrimSpace(w.Title) == "": // macOS does not always report the title
		return deny("the page in the browser is unknown; use the browser_... tools, which control Hob's own browser")
	case w.PID == 0 && w.App == "":
		return deny("the program of the window is unknown")
	case tainted && k == window.Terminal:
		return deny("a terminal would run the typed text, and this conversation contains untrusted text")
	}
	if d.Asking == nil {
		return deny("Hob cannot tell whether an approval request is open")
	}
	if open, err := d.Asking(ctx); err != nil || open {
		return errors.Join(deny("an approval request of Hob is open, and a click could answer it; the user must answer it first"), err)
	}
	return nil
}

var hobWord = lazyregexp.New(`(?i)(^|[^\pL\pN])hob([^\pL\pN]|$)`)

// isHobWindow reports whether a title contains Hob's name, as do the titles of the dashboard and of
// a terminal with the chat.
func isHobWindow(title string) bool { return hobWord.MatchString(title) }

// windowBinding returns the approval binding: the window, its program and its title.
func windowBinding(w window.Window) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %q %q %q", w.ID, w.PID, w.App, w.Program, w.Title))
	return "window " + hex.EncodeToString(sum[:12])
}

// acting is the set of effects of typing and clicking, which can do everything that a person can do
// at the computer.
const acting = tools.Exec | tools.Send | tools.Destroy

// assessWindowAction assesses an action in a window.
func (d Deps) assessWindowAction(ctx context.Context, name, does string) tools.CallAssessment {
	w, err := d.findWindow(ctx, name)
	if err == nil {
		err = d.checkInputAllowed(ctx, w, false)
	}
	if err != nil {
		return tools.CallAssessment{Refused: err, Private: true}
	}
	return tools.CallAssessment{Effects: acting, Private: true, Exact: windowBinding(w), Why: fmt.Sprintf("it %s in the window %q (%s), with your permissions", does, textnorm.Ellipsize(w.Title, 80), cmp.Or(w.App, "unknown"))}
}

// actInWindow finds the approved window again and runs act on it.
func (d Deps) actInWindow(ctx context.Context, c tools.Call, name string, act func(w window.Window, ok input.Check) error) (tools.Result, error) {
	w, err := d.findWindow(ctx, name)
	if err != nil {
		return tools.Result{}, err
	}
	if windowBinding(w) != c.Exact {
		return tools.Result{}, tools.Errorf(tools.Conflict, "the window has changed since the approval; nothing was done")
	}
	tainted := c.Provenance.Tainted()
	ok := func(now window.Window) error {
		if now.Kind() == window.Browser && windowBinding(now) != c.Exact { // the title of a browser window is the title of the page
			return fmt.Errorf("%w: the page has changed", input.ErrMoved)
		}
		return d.checkInputAllowed(ctx, now, tainted)
	}
	if err := ok(w); err != nil {
		return tools.Result{}, err
	}
	if err := classifyInputError(act(w, ok)); err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Source: provenance.Tool, Text: "Done."}, nil
}

// classifyInputError classifies an error of the input controller.
func classifyInputError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, input.ErrUnsure):
		return tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "%w", err), provenance.Outside)
	case errors.Is(err, input.ErrMoved), errors.Is(err, input.ErrGone): // the source is untrusted, because the error may name the program that has the focus
		return tools.Quoting(tools.Errorf(tools.Conflict, "%w; nothing was done", err), provenance.Outside)
	case tools.CodeOf(err) == tools.PolicyDenied, tools.CodeOf(err) == tools.InvalidArguments:
		return err
	}
	return classifyProgramError(err)
}

type focusIn struct {
	Window string `json:"window" jsonschema:"part of its title, or its id"`
}

// focusWindow moves the owner's keyboard focus to a window. It runs without approval only if the
// owner has just requested it and the conversation contains no untrusted text.
func (d Deps) focusWindow() tools.Tool {
	return tools.New(tools.Def[focusIn]{
		Spec: tools.Spec{
			Name: "focus_window", Category: "desktop", Effects: tools.Exec,
			Description: "Bring a window on the user's screen to the front, so that it receives the keyboard input.",
			Keywords:    "focus activate switch to bring window front raise show select",
		},
		Summary: func(in focusIn) string {
			return "Bring the window " + textnorm.Ellipsize(in.Window, 80) + " to the front"
		},
		Judge: func(ctx context.Context, in focusIn) tools.CallAssessment {
			j := d.assessWindowAction(ctx, in.Window, "puts the keyboard focus")
			if j.Refused == nil {
				j.Effects, j.Listed = tools.Exec, true
			}
			return j
		},
		Run: func(ctx context.Context, c tools.Call, in focusIn) (tools.Result, error) {
			return d.actInWindow(ctx, c, in.Window, func(w window.Window, ok input.Check) error { return d.Hands.Focus(ctx, w, ok) })
		},
	})
}

type typeIn struct {
	Window string `json:"window" jsonschema:"part of its title, or its id"`
	Text   string `json:"text" jsonschema:"line ends press Enter"`
}

func (d Deps) typeText() tools.Tool {
	return tools.New(tools.Def[typeIn]{
		Spec: tools.Spec{
			Name: "type_text", Category: "desktop", Effects: acting,
			Description: "Type text into a window on the user's screen. It always asks the user.",
			Keywords:    "type write enter keyboard into field window form input",
		},
		Summary: func(in typeIn) string {
			return fmt.Sprintf("Type into %s: %q", textnorm.Ellipsize(in.Window, 80), textnorm.Ellipsize(in.Text, 500))
		},
		Judge: func(ctx context.Context, in typeIn) tools.CallAssessment {
			if n := utf8.RuneCountInString(in.Text); n == 0 || n > input.MaxText {
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "text must be 1 to %d characters long", input.MaxText)}
			}
			return d.assessWindowAction(ctx, in.Window, "types")
		},
		Run: func(ctx context.Context, c tools.Call, in typeIn) (tools.Result, error) {
			return d.actInWindow(ctx, c, in.Window, func(w window.Window, ok input.Check) error { return d.Hands.Type(ctx, w, in.Text, ok) })
		},
	})
}

type pressIn struct {
	Window string   `json:"window" jsonschema:"part of its title, or its id"`
	Keys   []string `json:"keys" jsonschema:"one after another, such as ctrl+s"`
}

func (d Deps) pressKeys() tools.Tool {
	return tools.New(tools.Def[pressIn]{
		Spec: tools.Spec{
			Name: "press_keys", Category: "desktop", Effects: acting,
			Description: "Press keys in a window on the user's screen, such as ctrl+s. It always asks the user.",
			Keywords:    "press key shortcut hotkey keyboard chord enter escape",
		},
		Summary: func(in pressIn) string {
			return "Press " + textnorm.Ellipsize(strings.Join(in.Keys, ", "), 200) + " in " + textnorm.Ellipsize(in.Window, 80)
		},
		Judge: func(ctx context.Context, in pressIn) tools.CallAssessment {
			if len(in.Keys) == 0 || len(in.Keys) > 50 {
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "keys must contain 1 to 50 entries")}
			}
			for _, k := range in.Keys {
				if _, _, err := input.Chord(k); err != nil {
					return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))}
				}
			}
			j := d.assessWindowAction(ctx, in.Window, "presses keys")
			if j.Refused == nil {
				j.Exact += clipboardMark + d.clipboardDigest(ctx)
			}
			return j
		},
		Run: func(ctx context.Context, c tools.Call, in pressIn) (tools.Result, error) {
			bounds, digest, _ := strings.Cut(c.Exact, clipboardMark)
			if digest != d.clipboardDigest(ctx) {
				return tools.Result{}, tools.Errorf(tools.Conflict, "the clipboard has changed since the approval, and a key could paste it; nothing was done")
			}
			c.Exact = bounds
			return d.actInWindow(ctx, c, in.Window, func(w window.Window, ok input.Check) error { return d.Hands.Press(ctx, w, in.Keys, ok) })
		},
	})
}

// clipboardMark separates the window from the clipboard in the approval binding of key
// presses.
const clipboardMark = ", clipboard "

// clipboardDigest identifies the clipboard content that a key press could paste. Programs use
// different keys to paste, so every approval of a key press is bound to the digest. An unreadable
// clipboard counts as empty.
func (d Deps) clipboardDigest(ctx context.Context) string {
	if d.Clipboard == nil {
		return "none"
	}
	held, err := d.Clipboard.Read(ctx)
	if err != nil {
		return "none"
	}
	sum := hmac.New(sha256.New, d.Key)
	fmt.Fprintf(sum, "%q %t %q", held.Text, held.Cut, held.Formats)
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

type clickIn struct {
	Window string `json:"window" jsonschema:"part of its title, or its id"`
	X      int    `json:"x" jsonschema:"within the window"`
	Y      int    `json:"y"`
	Button string `json:"button,omitempty" jsonschema:"left (default), right, middle"`
	Double bool   `json:"double,omitempty" jsonschema:"double click"`
}

func (d Deps) clickAt() tools.Tool {
	return tools.New(tools.Def[clickIn]{
		Spec: tools.Spec{
			Name: "click", Category: "desktop", Effects: acting,
			Description: "Click a point in a window on the user's screen. It always asks the user.",
			Keywords:    "click mouse pointer button double right press position",
		},
		Summary: func(in clickIn) string {
			return fmt.Sprintf("Click %s at %d,%d in %s", cmp.Or(in.Button, "left"), in.X, in.Y, textnorm.Ellipsize(in.Window, 80))
		},
		Judge: func(ctx context.Context, in clickIn) tools.CallAssessment {
			return d.assessWindowAction(ctx, in.Window, "clicks")
		},
		Run: func(ctx context.Context, c tools.Call, in clickIn) (tools.Result, error) {
			return d.actInWindow(ctx, c, in.Window, func(w window.Window, ok input.Check) error {
				if in.X < 0 || in.Y < 0 || in.X >= w.W || in.Y >= w.H {
					return tools.Errorf(tools.InvalidArguments, "the point is outside the window, which is %dx%d points", w.W, w.H)
				}
				return d.Hands.Click(ctx, w, w.X+in.X, w.Y+in.Y, cmp.Or(in.Button, "left"), in.Double, ok)
			})
		},
	})
}
