// Package form asks the setup questions as terminal forms (setup.Asker). It defines the look and
// the keys of the forms, but not the questions.
package form

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"

	"hob/cmd/hob/internal/setup"
	"hob/platform/pim"
)

// Capable reports whether the terminal can show a form and the user wants one. Screen readers need
// lines instead.
func Capable(getenv func(string) string) bool {
	t := getenv("TERM")
	return getenv("ACCESSIBLE") == "" && t != "dumb" && (t != "" || getenv("OS") == "Windows_NT")
}

// Form asks on a terminal.
type Form struct {
	In  io.Reader
	Out io.Writer
}

// over is the number of rows above the options, which contain the title.
const over = 2

// tall is the number of list rows that are shown before the list scrolls.
const tall = 10

// frame is the number of columns around an option's text.
const frame = 8

// terminalWidth returns the width of the terminal in columns.
func (f *Form) terminalWidth() int {
	if o, ok := f.Out.(interface{ Fd() uintptr }); ok {
		if w, _, err := term.GetSize(int(o.Fd())); err == nil && w > 0 { //nolint:gosec // a file descriptor fits
			return w
		}
	}
	return 80
}

// Ask implements setup.Asker. Esc skips the step, and Ctrl-C stops the setup.
func (f *Form) Ask(ctx context.Context, p setup.Page) (setup.Answers, error) {
	var fields []huh.Field
	var read []func() (string, string)
	for _, q := range p.Questions {
		field, answer := fieldOf(q, f.terminalWidth()-frame)
		fields, read = append(fields, field), append(read, func() (string, string) { return q.Key, answer() })
	}
	title := pim.SanitizeText(p.Title)
	if p.Number > 0 {
		title += fmt.Sprintf("  %d/%d", p.Number, p.Of)
	}
	form := huh.NewForm(huh.NewGroup(fields...).Title(title).Description(pim.SanitizeText(p.About)))
	form.WithViewHook(func(v tea.View) tea.View {
		v.AltScreen = true // removes earlier answers above the next question
		return v
	})
	form.WithTheme(huh.ThemeFunc(formTheme)).WithKeyMap(keyMap()).WithShowHelp(true)
	skipped := false
	form.WithProgramOptions(tea.WithInput(f.In), tea.WithOutput(f.Out), tea.WithoutSignalHandler(), tea.WithFilter(func(_ tea.Model, m tea.Msg) tea.Msg {
		if k, ok := m.(tea.KeyPressMsg); ok && k.String() == "esc" && !isFiltering(form) {
			skipped = true
			return tea.QuitMsg{} // quit instead of interrupt, because after an interrupt the next key press might be lost
		}
		return m
	}))
	err := form.RunWithContext(ctx)
	switch {
	case skipped:
		return nil, setup.ErrSkip
	case errors.Is(err, huh.ErrUserAborted), ctx.Err() != nil:
		return nil, setup.ErrLeft
	case err != nil:
		return nil, fmt.Errorf("the terminal cannot show forms (%w); use line mode: hob setup --plain", err)
	}
	out := setup.Answers{}
	for _, r := range read {
		k, v := r()
		out[k] = v
	}
	f.echoAnswers(p, out)
	return out, nil
}

// isFiltering reports whether a list search is active, which Esc would end.
func isFiltering(f *huh.Form) bool {
	s, ok := f.GetFocusedField().(*huh.Select[string])
	return ok && s.GetFiltering()
}

// echoAnswers replaces the form with a line that shows the answer.
func (f *Form) echoAnswers(p setup.Page, a setup.Answers) {
	for _, q := range p.Questions {
		v := a[q.Key]
		switch {
		case q.Kind == setup.Secret && v != "":
			v = "(hidden)"
		case q.Kind == setup.YesNo:
			v = map[string]string{"true": "yes", "false": "no"}[v]
		case v == "":
			v = "-"
		}
		fmt.Fprintf(f.Out, "%s %s\n", pim.SanitizeLine(q.Title, 200), pim.SanitizeLine(v, 200))
	}
}

// fieldOf returns the form field for a question and the function that reads the answer. Each option
// uses one line, because the list counts lines as options.
func fieldOf(q setup.Question, width int) (huh.Field, func() string) {
	title, about := pim.SanitizeLine(q.Title, 200), pim.SanitizeText(q.About)
	value := pim.SanitizeLine(q.Default, 1000)
	switch q.Kind {
	case setup.Choice:
		s := huh.NewSelect[string]().Title(title).Description(about).Options(huhOptions(q, width)...).Value(&value).Validate(q.Verify)
		if len(q.Options) > tall {
			s.Height(tall + over)
		}
		return s, func() string { return value }
	case setup.Several:
		list := setup.Items(q.Default)
		m := huh.NewMultiSelect[string]().Title(title).Description(about).Options(huhOptions(q, width)...).Value(&list).Filterable(false).Height(len(q.Options) + over)
		m.Validate(func(v []string) error { return q.Verify(strings.Join(v, ",")) })
		return m, func() string { return strings.Join(list, ",") }
	case setup.YesNo:
		yes := q.Default == "true"
		c := huh.NewConfirm().Title(title).Description(about).Affirmative("Yes").Negative("No").Value(&yes)
		return c, func() string { return fmt.Sprint(yes) }
	}
	typed, unchanged := "", value // typed text replaces the value instead of being appended to it
	in := huh.NewInput().Title(title).Description(about).Value(&typed)
	if q.Kind == setup.Secret {
		unchanged = ""
		in.EchoMode(huh.EchoModePassword)
	}
	in.Placeholder(unchanged)
	answer := func(s string) string { return cmp.Or(strings.TrimSpace(s), unchanged) }
	in.Validate(func(s string) error { return q.Verify(answer(s)) })
	return in, func() string { return answer(typed) }
}

func huhOptions(q setup.Question, width int) (out []huh.Option[string]) {
	for _, o := range q.Options {
		out = append(out, huh.NewOption(ansi.Truncate(pim.SanitizeLine(o.Title, 200), max(width, 10), "…"), o.Value))
	}
	return out
}

// keyMap returns huh's default keys, with Esc added to the help of each field.
func keyMap() *huh.KeyMap {
	k := huh.NewDefaultKeyMap()
	skip := func(b *key.Binding) { b.SetHelp(b.Help().Key, b.Help().Desc+" • esc skip the step") }
	for _, b := range []*key.Binding{
		&k.Input.Next, &k.Input.Submit, &k.Select.Next, &k.Select.Submit, &k.MultiSelect.Next, &k.MultiSelect.Submit, &k.Confirm.Next, &k.Confirm.Submit,
	} {
		skip(b)
	}
	return k
}

// formTheme returns a theme for light and dark backgrounds. It uses only terminal colors that are
// readable on both, so it does not need to detect the background. Symbols repeat the meaning for
// users who see no colors.
func formTheme(bool) *huh.Styles {
	t := huh.ThemeBase(true)
	bold, faint, plain := lipgloss.NewStyle().Bold(true), lipgloss.NewStyle().Faint(true), lipgloss.NewStyle()
	mark := lipgloss.NewStyle().Foreground(lipgloss.Cyan).Bold(true)
	wrong := lipgloss.NewStyle().Foreground(lipgloss.Red)

	t.Group.Title, t.Group.Description = mark, plain
	f := &t.Focused
	f.Title, f.Description = bold, plain
	f.ErrorIndicator, f.ErrorMessage = wrong.SetString(" *"), wrong.SetString(" *")
	f.SelectSelector, f.MultiSelectSelector = mark.SetString("> "), mark.SetString("> ")
	f.SelectedPrefix, f.UnselectedPrefix = mark.SetString("[x] "), plain.SetString("[ ] ")
	f.Option, f.SelectedOption, f.UnselectedOption = plain, bold, plain
	f.FocusedButton = bold.Reverse(true).Padding(0, 2).MarginRight(1)
	f.BlurredButton = plain.Padding(0, 2).MarginRight(1)
	f.TextInput.Placeholder, f.TextInput.Prompt = faint, mark
	base, hidden := f.Base, t.Blurred.Base
	t.Blurred = *f
	t.Focused.Base, t.Blurred.Base = base, hidden
	t.Blurred.MultiSelectSelector, t.Blurred.SelectSelector = plain.SetString("  "), plain.SetString("  ")

	h := &t.Help
	h.ShortKey, h.ShortDesc, h.ShortSeparator, h.Ellipsis = faint, faint, faint, faint
	h.FullKey, h.FullDesc, h.FullSeparator = faint, faint, faint
	return t
}
