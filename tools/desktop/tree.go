package desktop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"hob/platform/desktop/tree"
	"hob/platform/desktop/window"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/tools"
)

// Tree reads the content of windows and presses elements; *tree.Reader implements it.
type Tree interface {
	Read(ctx context.Context, words string) (list []tree.Node, more bool, err error)
	Do(ctx context.Context, n tree.Node) error
	Fill(ctx context.Context, n tree.Node, text string) error
}

type readIn struct {
	Window string `json:"window,omitempty" jsonschema:"part of its title or program; empty: the one in front"`
}

type nodeOut struct {
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
	Does string `json:"does,omitempty"`
	// Takes is true if the element accepts text.
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
		Summary: func(in readIn) string { return strings.TrimSpace("Read the window " + phrase.Cut(in.Window, 80)) },
		Judge:   func(context.Context, readIn) tools.Judgement { return tools.Judgement{Private: true} },
		Run: func(ctx context.Context, _ tools.Call, in readIn) (tools.Result, error) {
			list, more, err := d.Tree.Read(ctx, in.Window)
			if err != nil {
				return tools.Result{}, heard(err)
			}
			if len(list) == 0 {
				return tools.Result{}, tools.Errorf(tools.NotFound, "no such window reports its content; browsers and programs started before accessibility was enabled often do not. Use screen_capture to take a screenshot")
			}
			return tools.Result{Text: drawn(list, more), Data: elements(list, more), Source: provenance.Outside, Origins: from("screen")}, nil
		},
	})
}

func elements(list []tree.Node, more bool) readOut {
	out := readOut{More: more}
	for _, n := range list {
		out.Elements = append(out.Elements, nodeOut{n.Role, n.Name, n.Text, n.Does, n.Takes})
	}
	return out
}

func drawn(list []tree.Node, more bool) string {
	var b strings.Builder
	for _, n := range list {
		if n.Name == "" && n.Text == "" && n.Does == "" && n.Depth > 0 && !n.Secret && !n.Takes {
			continue // a box around others
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
	Name   string `json:"name" jsonschema:"of the element, as read_screen says it"`
	Role   string `json:"role,omitempty"`
}

func (d Deps) clickElement() tools.Tool {
	return tools.New(tools.Def[elementIn]{
		Spec: tools.Spec{
			Name: "click_element", Category: "desktop", Effects: acting, Platforms: []string{"linux", "darwin", "windows"},
			Description: "Press a button or another element of a window by its name. It always asks the owner.",
			Keywords:    "click press button element check box menu item choose",
		},
		Summary: func(in elementIn) string {
			return fmt.Sprintf("Press %q in %s", phrase.Cut(in.Name, 80), phrase.Cut(in.Window, 80))
		},
		Judge: func(ctx context.Context, in elementIn) tools.Judgement {
			return d.judgedElement(ctx, in, pressable, "presses", "")
		},
		Run: func(ctx context.Context, c tools.Call, in elementIn) (tools.Result, error) {
			err := d.inElement(ctx, c, in, pressable, "", d.Tree.Do)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Source: provenance.Tool, Text: "Pressed."}, nil
		},
	})
}

type fillIn struct {
	Window string `json:"window" jsonschema:"part of its title or program"`
	Name   string `json:"name" jsonschema:"of the field, as read_screen says it"`
	Role   string `json:"role,omitempty"`
	Text   string `json:"text" jsonschema:"in place of what stands there"`
}

func (in fillIn) element() elementIn { return elementIn{in.Window, in.Name, in.Role} }

// fillElement sets the text of a field without key presses: the window need not be in
// front, and no other window can receive the text.
func (d Deps) fillElement() tools.Tool {
	return tools.New(tools.Def[fillIn]{
		Spec: tools.Spec{
			Name: "fill_element", Category: "desktop", Effects: acting, Platforms: []string{"linux", "darwin", "windows"},
			Description: "Put a text into a field of a window by the field's name. It always asks the owner.",
			Keywords:    "fill field form set value text box enter element",
		},
		Summary: func(in fillIn) string {
			return fmt.Sprintf("Fill %q of %s with %q", phrase.Cut(in.Name, 80), phrase.Cut(in.Window, 80), phrase.Cut(in.Text, 500))
		},
		Judge: func(ctx context.Context, in fillIn) tools.Judgement {
			if n := utf8.RuneCountInString(in.Text); n > tree.MaxFill {
				return tools.Judgement{Refused: tools.Errorf(tools.InvalidArguments, "text must have at most %d characters", tree.MaxFill)}
			}
			return d.judgedElement(ctx, in.element(), fillable, "fills", in.Text)
		},
		Run: func(ctx context.Context, c tools.Call, in fillIn) (tools.Result, error) {
			err := d.inElement(ctx, c, in.element(), fillable, in.Text, func(ctx context.Context, n tree.Node) error { return d.Tree.Fill(ctx, n, in.Text) })
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Source: provenance.Tool, Text: "Filled in the text."}, nil
		},
	})
}

func pressable(n tree.Node) bool { return n.Does != "" }

func fillable(n tree.Node) bool { return n.Takes && !n.Secret }

// judgedElement assesses an action on an element.
func (d Deps) judgedElement(ctx context.Context, in elementIn, fits func(tree.Node) bool, does, text string) tools.Judgement {
	n, err := d.element(ctx, in, fits)
	if err == nil {
		err = d.may(ctx, shownIn(n), false)
	}
	if err != nil {
		return tools.Judgement{Refused: err, Private: true}
	}
	return tools.Judgement{Effects: acting, Private: true, Exact: pressed(n, text), Why: fmt.Sprintf("it %s %q in the window %q (%s), as you could", does, phrase.Cut(n.Name, 80), phrase.Cut(n.Window, 80), phrase.Cut(n.App, 40))}
}

// inElement finds the element again and runs an action on it.
func (d Deps) inElement(ctx context.Context, c tools.Call, in elementIn, fits func(tree.Node) bool, text string, act func(context.Context, tree.Node) error) error {
	n, err := d.element(ctx, in, fits)
	if err != nil {
		return err
	}
	if pressed(n, text) != c.Exact {
		return tools.Errorf(tools.Conflict, "the window has changed since the approval; nothing was done")
	}
	if err := d.may(ctx, shownIn(n), c.Provenance.Tainted()); err != nil {
		return err
	}
	switch err := act(ctx, n); {
	case err == nil:
		return nil
	case errors.Is(err, tree.ErrGone):
		return tools.Quoting(tools.Errorf(tools.Conflict, "%w; nothing was done", err), provenance.Outside)
	case errors.Is(err, tree.ErrNot):
		return heard(err)
	default:
		return tools.Quoting(tools.Errorf(tools.OutcomeUnknown, "outcome unknown: %w", err), provenance.Outside)
	}
}

func shownIn(n tree.Node) window.Window {
	return window.Window{Title: n.Window, App: strings.ToLower(n.App), PID: n.PID, Program: window.Program(n.PID)}
}

func pressed(n tree.Node, text string) string {
	return "element " + n.Ref + " " + bound(shownIn(n)) + text
}

// element finds the one element with that name among those that fit.
func (d Deps) element(ctx context.Context, in elementIn, fits func(tree.Node) bool) (tree.Node, error) {
	if strings.TrimSpace(in.Window) == "" || strings.TrimSpace(in.Name) == "" {
		return tree.Node{}, tools.Errorf(tools.InvalidArguments, "name a window and an element")
	}
	list, _, err := d.Tree.Read(ctx, in.Window)
	if err != nil {
		return tree.Node{}, heard(err)
	}
	var found []tree.Node
	for _, n := range list {
		if fits(n) && strings.EqualFold(strings.TrimSpace(n.Name), strings.TrimSpace(in.Name)) && (in.Role == "" || strings.EqualFold(n.Role, in.Role)) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return tree.Node{}, tools.Errorf(tools.NotFound, "no such element is called %q in the window; read_screen lists the elements and what they accept", tools.Clean(phrase.Cut(in.Name, 60)))
	case 1:
		return found[0], nil
	}
	return tree.Node{}, tools.Errorf(tools.InvalidArguments, "%d elements are called %q; give the role, or click at a position", len(found), tools.Clean(phrase.Cut(in.Name, 60)))
}
