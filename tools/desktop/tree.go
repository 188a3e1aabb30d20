package desktop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hob/platform/host/desktop/a11y"
	"hob/platform/host/desktop/window"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Tree reads the content of windows and presses elements; *a11y.Reader implements it.
type Tree interface {
	Read(ctx context.Context, words string) (list []a11y.Node, more bool, err error)
	Do(ctx context.Context, n a11y.Node) error
	Fill(ctx context.Context, n a11y.Node, text string) error
}

type readIn struct {
	Window string `json:"window,omitempty" jsonschema:"part of its title or program; empty: the window in front"`
}

type nodeOut struct {
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
	Does string `json:"does,omitempty"`
	// Takes is true if text can be entered in the element.
	Takes bool `json:"takes,omitempty"`
}

type readOut struct {
	Elements []nodeOut `json:"elements"`
	More     bool      `json:"more,omitempty"`
}

func (d Deps) readScreen() tools.Tool {
	return tools.New(tools.Def[readIn]{
		Spec: tools.Spec{
			Name: "read_screen", Category: "desktop", Effects: tools.Read, Platforms: []string{"linux", "darwin", "windows"},
			Description: "Read what a window shows as text: its elements with roles, names and texts, and what can be pressed.",
			Keywords:    "screen window read elements buttons fields accessibility text shown",
		},
		Summary: func(in readIn) string {
			return strings.TrimSpace("Read the window " + textnorm.Ellipsize(in.Window, 80))
		},
		Judge: func(context.Context, readIn) tools.CallAssessment { return tools.CallAssessment{Private: true} },
		Run: func(ctx context.Context, _ tools.Call, in readIn) (tools.Result, error) {
			list, more, err := d.Tree.Read(ctx, in.Window)
			if err != nil {
				return tools.Result{}, classifyProgramError(err)
			}
			if len(list) == 0 {
				return tools.Result{}, tools.Errorf(tools.NotFound, "no such window reports its content; browsers and programs started before accessibility was enabled often do not. Use screen_capture to take a screenshot")
			}
			return tools.Result{Text: renderTree(list, more), Data: elementList(list, more), Source: provenance.Outside, Origins: desktopOrigins("screen")}, nil
		},
	})
}

func elementList(list []a11y.Node, more bool) readOut {
	out := readOut{More: more}
	for _, n := range list {
		out.Elements = append(out.Elements, nodeOut{n.Role, n.Name, n.Text, n.Does, n.Takes})
	}
	return out
}

func renderTree(list []a11y.Node, more bool) string {
	var b strings.Builder
	for _, n := range list {
		if n.Name == "" && n.Text == "" && n.Does == "" && n.Depth > 0 && !n.Secret && !n.Takes {
			continue // a container without content of its own
		}
		fmt.Fprintf(&b, "%s- %s", strings.Repeat(" ", min(n.Depth, 12)), n.Role)
		if n.Name != "" {
			fmt.Fprintf(&b, " %q", n.Name)
		}
		if n.Secret {
			b.WriteString(" (its text is not read)")
		}
		if n.Text != "" {
			fmt.Fprintf(&b, ": %s", strings.Join(strings.Fields(n.Text), " "))
		}
		if n.Does != "" {
			fmt.Fprintf(&b, " [%s]", n.Does)
		}
		if n.Takes {
			b.WriteString(" [takes text]")
		}
		b.WriteByte('\n')
	}
	if more {
		b.WriteString("(only the first elements are listed)\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

type elementIn struct {
	Window string `json:"window" jsonschema:"part of its title or program"`
	Name   string `json:"name" jsonschema:"of the element, as read_screen reports it"`
	Role   string `json:"role,omitempty" jsonschema:"such as button or textbox, when names repeat"`
}

func (d Deps) clickElement() tools.Tool {
	return tools.New(tools.Def[elementIn]{
		Spec: tools.Spec{
			Name: "click_element", Category: "desktop", Effects: acting, Platforms: []string{"linux", "darwin", "windows"},
			Description: "Press a button or another element of a window by its name. It always asks the user.",
			Keywords:    "click press button element check box menu item choose",
		},
		Summary: func(in elementIn) string {
			return fmt.Sprintf("Press %q in %s", textnorm.Ellipsize(in.Name, 80), textnorm.Ellipsize(in.Window, 80))
		},
		Judge: func(ctx context.Context, in elementIn) tools.CallAssessment {
			return d.judgedElement(ctx, in, isPressable, "presses", "")
		},
		Run: func(ctx context.Context, c tools.Call, in elementIn) (tools.Result, error) {
			err := d.inElement(ctx, c, in, isPressable, "", d.Tree.Do)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Source: provenance.Tool, Text: "Pressed."}, nil
		},
	})
}

type fillIn struct {
	Window string `json:"window" jsonschema:"part of its title or program"`
	Name   string `json:"name" jsonschema:"of the field, as read_screen reports it"`
	Role   string `json:"role,omitempty" jsonschema:"such as button or textbox, when names repeat"`
	Text   string `json:"text" jsonschema:"replaces the current content"`
}

func (in fillIn) elementQuery() elementIn { return elementIn{in.Window, in.Name, in.Role} }

// fillElement sets the text of a field without key presses. The window does not have to be in
// front, and no other window can receive the text.
func (d Deps) fillElement() tools.Tool {
	return tools.New(tools.Def[fillIn]{
		Spec: tools.Spec{
			Name: "fill_element", Category: "desktop", Effects: acting, Platforms: []string{"linux", "darwin", "windows"},
			Description: "Fill in a field of a window by the field's name. It always asks the user.",
			Keywords:    "fill field form set value text box enter element",
		},
		Summary: func(in fillIn) string {
			return fmt.Sprintf("Fill %q in %s with %q", textnorm.Ellipsize(in.Name, 80), textnorm.Ellipsize(in.Window, 80), textnorm.Ellipsize(in.Text, 500))
		},
		Judge: func(ctx context.Context, in fillIn) tools.CallAssessment {
			if n := utf8.RuneCountInString(in.Text); n > a11y.MaxFill {
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "text must be at most %d characters long", a11y.MaxFill)}
			}
			return d.judgedElement(ctx, in.elementQuery(), isFillable, "fills", in.Text)
		},
		Run: func(ctx context.Context, c tools.Call, in fillIn) (tools.Result, error) {
			err := d.inElement(ctx, c, in.elementQuery(), isFillable, in.Text, func(ctx context.Context, n a11y.Node) error { return d.Tree.Fill(ctx, n, in.Text) })
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Source: provenance.Tool, Text: "Filled in the text."}, nil
		},
	})
}

func isPressable(n a11y.Node) bool { return n.Does != "" }

func isFillable(n a11y.Node) bool { return n.Takes && !n.Secret }

// judgedElement assesses an action on an element.
func (d Deps) judgedElement(ctx context.Context, in elementIn, fits func(a11y.Node) bool, does, text string) tools.CallAssessment {
	n, err := d.findElement(ctx, in, fits)
	if err == nil {
		err = d.checkInputAllowed(ctx, shownIn(n), false)
	}
	if err != nil {
		return tools.CallAssessment{Refused: err, Private: true}
	}
	return tools.CallAssessment{Effects: acting, Private: true, Exact: pressBinding(n, text), Why: fmt.Sprintf("it %s %q in the window %q (%s), with your permissions", does, textnorm.Ellipsize(n.Name, 80), textnorm.Ellipsize(n.Window, 80), textnorm.Ellipsize(n.App, 40))}
}

// inElement finds the approved element again and runs an action on it.
func (d Deps) inElement(ctx context.Context, c tools.Call, in elementIn, fits func(a11y.Node) bool, text string, act func(context.Context, a11y.Node) error) error {
	n, err := d.findElement(ctx, in, fits)
	if err != nil {
		return err
	}
	if pressBinding(n, text) != c.Exact {
		return tools.Errorf(tools.Conflict, "the window has changed since the approval; nothing was done")
	}
	if err := d.checkInputAllowed(ctx, shownIn(n), c.Provenance.Tainted()); err != nil {
		return err
	}
	switch err := act(ctx, n); {
	case err == nil:
		return nil
	case errors.Is(err, a11y.ErrGone):
		return tools.Quoting(tools.Errorf(tools.Conflict, "%w; nothing was done", err), provenance.Outside)
	case errors.Is(err, a11y.ErrNot):
		return classifyProgramError(err)
	default:
		return tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "outcome unknown: %w", err), provenance.Outside)
	}
}

func shownIn(n a11y.Node) window.Window {
	return window.Window{Title: n.Window, App: strings.ToLower(n.App), PID: n.PID, Program: window.Program(n.PID)}
}

func pressBinding(n a11y.Node, text string) string {
	return "element " + n.Ref + " " + windowBinding(shownIn(n)) + text
}

// findElement finds the only element with the given name for which fits returns true.
func (d Deps) findElement(ctx context.Context, in elementIn, fits func(a11y.Node) bool) (a11y.Node, error) {
	if strings.TrimSpace(in.Window) == "" || strings.TrimSpace(in.Name) == "" {
		return a11y.Node{}, tools.Errorf(tools.InvalidArguments, "name a window and an element")
	}
	list, _, err := d.Tree.Read(ctx, in.Window)
	if err != nil {
		return a11y.Node{}, classifyProgramError(err)
	}
	var found []a11y.Node
	for _, n := range list {
		if fits(n) && strings.EqualFold(strings.TrimSpace(n.Name), strings.TrimSpace(in.Name)) && (in.Role == "" || strings.EqualFold(n.Role, in.Role)) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return a11y.Node{}, tools.Errorf(tools.NotFound, "the window has no element %q that allows this action; read_screen lists the elements and what they accept", tools.Clean(textnorm.Ellipsize(in.Name, 60)))
	case 1:
		return found[0], nil
	}
	return a11y.Node{}, tools.Errorf(tools.InvalidArguments, "%d elements are called %q; give the role, or click at a position", len(found), tools.Clean(textnorm.Ellipsize(in.Name, 60)))
}
