package form

import (
	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"
)

// theme names no colour for text but those of the terminal's own sixteen that can
// be read on light and dark, so that nobody has to find out which it is. What counts
// is also told by signs, for those who see no colours.
func theme(bool) *huh.Styles {
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
