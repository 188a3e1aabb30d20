package form

import (
	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"
)

// formTheme uses only the terminal's own 16 colors that are readable on light and dark backgrounds,
// so it needs no background detection. Symbols repeat the meaning for users who see no colors.
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
