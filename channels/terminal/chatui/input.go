package chatui

import (
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"hob/channels"
	"hob/platform/text/sorting"
	"hob/platform/text/visible"
)

// newInput returns the field for messages.
func newInput() textarea.Model {
	in := textarea.New()
	in.ShowLineNumbers = false
	in.CharLimit = 0
	in.DynamicHeight = true
	in.SetVirtualCursor(false)
	in.SetPromptFunc(2, func(p textarea.PromptInfo) string {
		if p.LineNumber == 0 {
			return "> "
		}
		return "  "
	})
	plain := lipgloss.NewStyle()
	state := textarea.StyleState{Base: plain, Text: plain, CursorLine: plain, Placeholder: plain, EndOfBuffer: plain, Prompt: plain}
	s := in.Styles()
	s.Focused, s.Blurred = state, state
	in.SetStyles(s)
	// Keys with Alt and a letter are not used; see model.pressKey.
	in.KeyMap.WordForward = key.NewBinding(key.WithKeys("alt+right", "ctrl+right"))
	in.KeyMap.WordBackward = key.NewBinding(key.WithKeys("alt+left", "ctrl+left"))
	in.KeyMap.DeleteWordForward = key.NewBinding(key.WithKeys("alt+delete", "ctrl+delete"))
	for _, off := range []*key.Binding{
		&in.KeyMap.InsertNewline, &in.KeyMap.CapitalizeWordForward, &in.KeyMap.LowercaseWordForward, &in.KeyMap.UppercaseWordForward,
		&in.KeyMap.Paste, &in.KeyMap.PageUp, &in.KeyMap.PageDown,
	} {
		off.SetEnabled(false)
	}
	return in
}

// fitInput adapts the field to the window.
func (m *model) fitInput() {
	m.input.MaxHeight = max(1, m.height/3)
	m.input.SetWidth(max(m.width, 10))
}

func (m *model) setInput(s string) {
	m.input.SetValue(s)
	m.input.MoveToEnd()
	m.updateMenu()
}

func (m *model) clearInput() {
	m.input.Reset()
	m.history.at = len(m.history.entries)
	m.updateMenu()
}

// pressEnter sends the message, or continues it on a new line after a backslash.
func (m *model) pressEnter() tea.Cmd {
	text := m.input.Value()
	if strings.HasSuffix(text, `\`) && m.input.Line() == m.input.LineCount()-1 {
		m.setInput(strings.TrimSuffix(text, `\`) + "\n")
		return nil
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil
	case IsLeaving(text):
		return m.leaveChat()
	}
	if !m.sendInput(Input{Text: text, Pastes: pastesIn(text, m.pastes)}) {
		return nil
	}
	m.history.addMessage(text)
	m.clearInput()
	m.menu = nil
	return nil
}

// maxPaste is the maximum length of a paste in bytes. The API has the same limit for a message.
const maxPaste = 10 << 20

// pasteText inserts a paste. A paste of more than channels.MaxTyped characters is folded into a
// placeholder, because it does not count as typed.
func (m *model) pasteText(text string) {
	if m.search != nil {
		return
	}
	m.pending = nil
	text = strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), "\uFFFD")
	switch {
	case len(text) > maxPaste:
		m.showEvent(noteMsg{Failure, "The paste is too long; save it to a file and name the file."})
		return
	case utf8.RuneCountInString(text) > channels.MaxTyped:
		p := newPaste(len(m.pastes)+1, text)
		m.pastes = append(m.pastes, p)
		text = p.Mark
	}
	m.input.InsertString(visible.Text(text))
	m.updateMenu()
}

// searchKey handles a key during a search.
func (m *model) searchKey(k tea.KeyPressMsg) tea.Cmd {
	s, entries := m.search, m.history.entries
	switch k.String() {
	case "ctrl+r":
		s.findMatch(entries, s.at-1)
	case "esc", "ctrl+g":
		m.search = nil
		m.setInput(s.before)
	case "backspace", "ctrl+h":
		if _, size := utf8.DecodeLastRuneInString(s.query); size > 0 {
			s.query, s.at = s.query[:len(s.query)-size], len(entries)
			s.findMatch(entries, s.at)
		}
	default:
		if k.Text != "" {
			from := s.at
			s.query, s.at = s.query+visible.Text(k.Text), len(entries)
			s.findMatch(entries, from)
			return nil
		}
		m.search = nil
		if s.at < len(entries) {
			m.setInput(entries[s.at])
		}
		if k.String() != "enter" { // other keys edit the result, and Enter sends it only when pressed again
			return m.handleKey(k)
		}
	}
	return nil
}

// menu is the list of completions below the text.
type menu struct {
	choices []choice
	at      int
	moved   bool // whether the user chose an entry
}

// choice is one completion: text replaces the last typed characters of the input.
type choice struct {
	text, about string
	replaces    int // number of bytes at the end of the input
}

// maxChoices is the number of completions on the screen.
const maxChoices = 6

// updateMenu shows the commands that begin with the input.
func (m *model) updateMenu() {
	m.menu = nil
	text := m.input.Value()
	if !strings.HasPrefix(text, "/") || strings.ContainsAny(text, " \n") || strings.Count(text, "/") > 1 {
		return
	}
	var list []choice
	for _, c := range m.ui.o.Commands {
		if strings.HasPrefix("/"+c.Name, text) {
			list = append(list, choice{text: "/" + c.Name + " ", about: strings.TrimSpace(c.Args + "  " + c.About), replaces: len(text)})
		}
	}
	if len(list) > 0 {
		m.menu = &menu{choices: list}
	}
}

// menuKey handles a key while completions are shown. It reports whether it used the key.
func (m *model) menuKey(name string) bool {
	switch name {
	case "up", "ctrl+p":
		m.menu.at, m.menu.moved = (m.menu.at+len(m.menu.choices)-1)%len(m.menu.choices), true
	case "down", "ctrl+n":
		m.menu.at, m.menu.moved = (m.menu.at+1)%len(m.menu.choices), true
	case "esc":
		m.menu = nil
	case "tab":
		m.takeChoice(m.menu.choices[m.menu.at])
	case "enter":
		if !m.menu.moved {
			return false
		}
		m.takeChoice(m.menu.choices[m.menu.at])
	default:
		return false
	}
	return true
}

func (m *model) takeChoice(c choice) {
	text := m.input.Value()
	m.setInput(text[:len(text)-min(c.replaces, len(text))] + c.text)
}

// completeWord completes the path at the end of the input.
func (m *model) completeWord() {
	text := m.input.Value()
	word := text[strings.LastIndexAny(text, " \n\"'")+1:]
	if !strings.Contains(word, "/") && !strings.HasPrefix(word, "~") && !strings.Contains(word, string(filepath.Separator)) {
		return
	}
	list := m.completePath(word)
	switch len(list) {
	case 0:
	case 1:
		m.takeChoice(list[0])
	default:
		prefix := list[0].text
		for _, c := range list[1:] {
			for !strings.HasPrefix(c.text, prefix) {
				_, size := utf8.DecodeLastRuneInString(prefix)
				prefix = prefix[:len(prefix)-size]
			}
		}
		if len(prefix) > len(word) {
			m.takeChoice(choice{text: prefix, replaces: len(word)})
			for i := range list {
				list[i].replaces = len(prefix)
			}
		}
		m.menu = &menu{choices: list}
	}
}

// maxEntries is the number of entries of a folder that are read for a completion.
const maxEntries = 5000

// completePath returns the files whose paths begin with word. It skips names with hidden characters.
func (m *model) completePath(word string) (out []choice) {
	dir, base := filepath.Split(word)
	real := dir
	switch {
	case word == "~":
		return []choice{{text: "~" + string(filepath.Separator), replaces: 1}}
	case strings.HasPrefix(dir, "~"+string(filepath.Separator)) || strings.HasPrefix(dir, "~/"):
		real = filepath.Join(m.ui.o.Home, dir[2:])
	case !filepath.IsAbs(dir):
		real = filepath.Join(m.ui.o.Folder, dir)
	}
	f, err := os.Open(real)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries)
	if err != nil && len(entries) == 0 {
		return nil
	}
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || visible.Text(name) != name {
			continue
		}
		if e.IsDir() {
			name += string(filepath.Separator)
		}
		out = append(out, choice{text: dir + name, replaces: len(word)})
	}
	sorting.ByFunc(out, func(a, b choice) int { return strings.Compare(a.text, b.text) })
	return out
}
