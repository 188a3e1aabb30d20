package chatui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"hob/channels"
)

const (
	escape = "\x1b"
	enter  = "\r"
	ctrlC  = "\x03"
	ctrlU  = "\x15"
	up     = "\x1b[A"
	down   = "\x1b[B"
	pageUp = "\x1b[5~"
)

func TestUI_SendsMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		keys []string
		want string
	}{
		"one line":                       {[]string{"hello", enter}, "hello"},
		"Alt-Enter":                      {[]string{"one", "\x1b\r", "two", enter}, "one\ntwo"},
		"Shift-Enter":                    {[]string{"one", "\x1b[13;2u", "two", enter}, "one\ntwo"},
		"Ctrl-J":                         {[]string{"one", "\n", "two", enter}, "one\ntwo"},
		"backslash":                      {[]string{"one\\", enter, "two", enter}, "one\ntwo"},
		"Esc does not swallow a letter":  {[]string{"one", "\x1ba", "b", enter}, "oneab"},
		"Esc does not swallow a capital": {[]string{"one", "\x1bA", enter}, "oneA"},
		"only Esc":                       {[]string{"one", escape, "b", enter}, "oneb"},
		"Esc, then a digit immediately":  {[]string{escape + "1", enter}, "1"},
		"wide characters":                {[]string{"日本 ąčę 👍🏽", enter}, "日本 ąčę 👍🏽"},
		"a chosen command":               {[]string{"/s", down, "\t", enter}, "/status"},
		"a typed command":                {[]string{"/stop", enter}, "/stop"},
		"recalled":                       {[]string{up, enter}, "add milk"},
		"recalled twice and back":        {[]string{"draft", up, up, down, down, enter}, "draft"},
		"found":                          {[]string{"\x12", "vil", enter, enter}, "weather in Vilnius"},
		"found, then the next older one": {[]string{"\x12", "i", "\x12", "\x12", enter, enter}, "list my tasks"},
		"search canceled":                {[]string{"draft", "\x12", "vil", escape, enter}, "draft"},
		"a short paste":                  {[]string{pasteStart + "two\r\nlines" + pasteEnd, enter}, "two\nlines"},
		"keys in a paste are text":       {[]string{"a", pasteStart + "b\x03", "\x03", "\x04\x1b[A", "c\r" + pasteEnd, "d", enter}, "ab[Ac\nd"},
		"hidden characters in a paste":   {[]string{pasteStart + "a\u202eb\u200bc" + pasteEnd, enter}, "abc"},
		"Ctrl-C clears":                  {[]string{"lost", ctrlC, "kept", enter}, "kept"},
		"a paste without an end":         {[]string{pasteStart + "lost", "", "", "", "", ctrlC, "kept", enter}, "kept"},
	} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, 60, 20, func(b *bench) {
				b.pressKeys(tc.keys...)
				if got := b.nextInput(); got.Text != tc.want {
					t.Errorf("sent %q, want %q", got.Text, tc.want)
				}
				b.noInput()
			})
		})
	}
}

// A character that changes the order of a line must not return from the history.
func TestUI_SearchHidesCharactersThatReorder(t *testing.T) {
	onScreen(t, 60, 20, func(b *bench) {
		b.pressKeys("zebra\u202ecrossing", enter)
		b.nextInput()
		b.pressKeys("\x12", "zeb")
		b.checkShown("search: zeb", "zebracrossing")
		b.pressKeys(enter, enter)
		if got := b.nextInput(); got.Text != "zebracrossing" {
			t.Errorf("sent %q", got.Text)
		}
	})
}

func TestUI_FoldsLongPastes(t *testing.T) {
	long := strings.Repeat("word ", 100) // 500 characters
	onScreen(t, 60, 20, func(b *bench) {
		b.pressKeys("read ", pasteStart+long+pasteEnd, " now")
		b.checkShown("read [pasted text #1, 500 characters] now")
		b.pressKeys(enter)
		in := b.nextInput()
		if len(in.Pastes) != 1 || in.Pastes[0].Text != long || !strings.Contains(in.Text, in.Pastes[0].Mark) {
			t.Errorf("input: %+v", in)
		}
		b.pressKeys("[pasted text #2, 500 characters]", enter)
		if in := b.nextInput(); len(in.Pastes) != 0 {
			t.Error("a typed placeholder counts as a paste")
		}
	})
}

func TestUI_LeavesChat(t *testing.T) {
	for name, keys := range map[string][]string{
		"exit": {"exit", enter}, "quit": {"quit", enter}, "/exit": {"/exit", enter}, "Ctrl-D": {"\x04"}, "Ctrl-C twice": {ctrlC, ctrlC},
	} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, 60, 20, func(b *bench) {
				b.pressKeys(keys...)
				if _, open := <-b.ui.inputs; open {
					t.Error("a message was sent")
				}
				if err := <-b.ended; err != nil {
					t.Error(err)
				}
				b.ended <- nil
			})
		})
	}
}

func TestUI_InterruptsRunningTurn(t *testing.T) {
	onScreen(t, 60, 20, func(b *bench) {
		turn := b.ui.NewTurn("work")
		b.settleScreen(200 * time.Millisecond)
		b.checkShown("thinking 0.")
		b.pressKeys(ctrlC)
		if !b.nextInput().Interrupt {
			t.Error("the input is not an interrupt")
		}
		turn.End()
		b.pressKeys("x", ctrlC, ctrlC)
		b.checkShown("Press Ctrl-C again")
		b.checkHidden("thinking", "working")
		b.noInput()
	})
}

// A key decides a request only if the user has had time to see it and is not writing a message.
func TestUI_DecidesRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		wait     time.Duration
		keys     []string
		decision string // "yes", "no" or ""
		text     string // text in the input afterwards
	}{
		"y":                              {2 * time.Second, []string{"y"}, "yes", ""},
		"n":                              {2 * time.Second, []string{"n"}, "no", ""},
		"y and Enter":                    {2 * time.Second, []string{"y", enter}, "yes", ""},
		"a message that starts with y":   {2 * time.Second, []string{"y", "o", "u"}, "", "you"},
		"y in a fast word":               {2 * time.Second, []string{"yes"}, "", "yes"},
		"Esc cancels":                    {2 * time.Second, []string{"y", escape}, "", ""},
		"too early":                      {200 * time.Millisecond, []string{"y"}, "", "y"},
		"in a message":                   {2 * time.Second, []string{"a", "y"}, "", "ay"},
		"pasted":                         {2 * time.Second, []string{pasteStart + "y" + pasteEnd}, "", "y"},
		"after the details":              {2 * time.Second, []string{"d", "", "", "", "", "y"}, "yes", ""},
		"a message that starts with d":   {2 * time.Second, []string{"d", "o"}, "", "do"},
		"while scrolled":                 {2 * time.Second, []string{pageUp, "y"}, "", "y"},
		"Ctrl-C cancels":                 {2 * time.Second, []string{"y", ctrlC}, "", ""},
		"Alt and y is Esc and then text": {200 * time.Millisecond, []string{"\x1by"}, "", "y"},
	} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, 60, 20, func(b *bench) {
				b.ui.Note(Hint, strings.Repeat("line\n", 40))
				b.ui.Ask(approvalRequest("a1"), "")
				b.settleScreen(tc.wait)
				b.checkShown("y approve · n deny · d details")
				b.checkHidden("cwd")
				b.pressKeys(tc.keys...)
				b.settleScreen(time.Second)
				got := ""
				select {
				case in := <-b.ui.inputs:
					if in.Decision != nil {
						got = map[bool]string{true: "yes", false: "no"}[in.Decision.Approved] + map[bool]string{false: " of another request"}[in.Decision.Request.ID == "a1"]
					}
				default:
				}
				if value := b.ui.model.input.Value(); got != tc.decision || value != tc.text {
					t.Errorf("decision %q, text %q, want %q, %q\n%s", got, value, tc.decision, tc.text, b.screenText())
				}
			})
		})
	}
}

func TestUI_ShowsOutcomeOfDecisions(t *testing.T) {
	onScreen(t, 80, 20, func(b *bench) {
		for _, id := range []string{"a1", "a2", "a3"} {
			b.ui.Ask(approvalRequest(id), "")
		}
		b.settleScreen(2 * time.Second)
		b.pressKeys("y")
		b.settleScreen(time.Second)
		q := b.nextInput().Decision.Request
		b.ui.Decided(q, "", errors.New("disk is full"))
		b.settleScreen(time.Second)
		b.checkShown("Your answer was not accepted: disk is full", "2 more to answer", "y approve")
		b.pressKeys("n")
		b.settleScreen(time.Second)
		b.ui.Decided(b.nextInput().Decision.Request, "Denied: run it", nil)
		b.settleScreen(2 * time.Second)
		b.checkShown("Denied: run it", "1 more to answer")
		b.ui.SetStatus(Status{Pending: []string{"a3"}, AsOf: time.Now()})
		b.settleScreen(time.Second)
		b.checkShown("Answered elsewhere or expired", "y approve")
		b.checkHidden("more to answer")
		b.ui.SetStatus(Status{Pending: []string{}, AsOf: time.Now()})
		b.settleScreen(time.Second)
		b.checkHidden("y approve")
	})
}

// In a small window, a request that does not fit can be approved after it was read to its end.
func TestUI_FitsSmallWindow(t *testing.T) {
	onScreen(t, 40, 10, func(b *bench) {
		q := approvalRequest("a1")
		q.Summary = "Run: /usr/bin/touch" + strings.Repeat(" some-file", 20)
		b.ui.Ask(q, "")
		b.settleScreen(2 * time.Second)
		b.checkShown("Hob asks: Run:", "PgDn: read", "waiting")
		b.pressKeys("y")
		b.settleScreen(time.Second)
		b.noInput()
		b.pressKeys(ctrlU, "\x1b[6~", "\x1b[6~", "\x1b[6~")
		b.settleScreen(2 * time.Second)
		b.checkShown("y approve")
		b.pressKeys("y")
		b.settleScreen(time.Second)
		if d := b.nextInput().Decision; d == nil || !d.Approved {
			t.Errorf("decision: %+v", d)
		}
	})
}

func TestUI_RequiresDetailsOfCutSentence(t *testing.T) {
	onScreen(t, 80, 40, func(b *bench) {
		q := approvalRequest("a1")
		q.Summary = "Run: /usr/bin/touch …"
		b.ui.Ask(q, "")
		b.settleScreen(2 * time.Second)
		b.checkShown("d details, then y approve")
		b.pressKeys("y", ctrlU, "d")
		b.settleScreen(2 * time.Second)
		b.pressKeys("y")
		b.settleScreen(time.Second)
		if d := b.nextInput().Decision; d == nil || !d.Approved {
			t.Errorf("decision: %+v", d)
		}
	})
}

func TestUI_FollowsResize(t *testing.T) {
	var words []string
	for i := range 60 {
		words = append(words, strings.Repeat(string(rune('a'+i%26)), 3+i%7)+string(rune('A'+i%26)))
	}
	onScreen(t, 120, 30, func(b *bench) {
		turn := b.ui.NewTurn("hello there")
		turn.AddText(strings.Join(words, " "))
		turn.End()
		b.pressKeys("a draft")
		for _, columns := range []int{60, 120, 40, 80} {
			b.screen.mu.Lock()
			b.screen.em.Resize(columns, 30)
			b.screen.mu.Unlock()
			b.ui.program.Send(tea.WindowSizeMsg{Width: columns, Height: 30})
			b.settleScreen(200 * time.Millisecond)
			text := b.screenText()
			if got := strings.Join(strings.Fields(text), " "); strings.Count(got, strings.Join(words, " ")) != 1 || strings.Count(text, "a draft") != 1 || strings.Count(text, "local/llama") != 1 {
				t.Errorf("at %d columns:\n%s", columns, text)
			}
		}
	})
}

// Untrusted text cannot control the terminal, and a long text stays readable.
func TestUI_ShowsHostileTextHarmlessly(t *testing.T) {
	hostile := "one\x1b[2J\x1b]0;evil\x07\x1b]52;c;ZXZpbA==\x07 two\u202egnp\u202c three\u200bfour five\u009b31m\x08seven\r [link](javascript:alert(1)) <script>x</script> `\x1b[5m`"
	onScreen(t, 80, 24, func(b *bench) {
		turn := b.ui.NewTurn(hostile)
		turn.StartTool("1", hostile)
		turn.ShowProgress("1", hostile, hostile)
		turn.EndTool("1", hostile, hostile, hostile)
		turn.AddText(hostile)
		turn.End()
		for _, kind := range []Kind{Hint, Notice, Warning, Failure} {
			b.ui.Note(kind, hostile)
		}
		q := approvalRequest("a1")
		q.Summary, q.Reason, q.Why, q.Tool = hostile, hostile, hostile, hostile
		b.ui.Ask(q, "")
		b.pressKeys("d", "\x0f")
		b.ui.SetStatus(Status{Model: hostile})
		b.settleScreen(time.Second)
		view := b.ui.model.View().Content
		for _, bad := range []string{"\x1b[2J", "\x1b]", "\x1b[5m", "\x07", "\x08", "\r", "\u202e", "\u200b", "\u009b"} {
			if strings.Contains(view, bad) {
				t.Errorf("the screen shows %q", bad)
			}
		}
	})
	onScreen(t, 80, 24, func(b *bench) {
		turn := b.ui.NewTurn("long")
		for i := range 5000 {
			turn.AddText("word" + strings.Repeat("x", i%5) + " ")
		}
		turn.AddText("the end.")
		turn.End()
		b.settleScreen(time.Second)
		b.checkShown("the end.")
		b.pressKeys("\x1b[1;5H") // Ctrl-Home
		b.checkShown("› long", "more lines")
		b.ui.Note(Notice, "while reading")
		b.settleScreen(time.Second)
		b.checkShown("› long")
		b.pressKeys(escape)
		b.checkShown("while reading")
	})
}

func TestUI_CompletesPaths(t *testing.T) {
	onScreen(t, 80, 24, func(b *bench) {
		dir := b.ui.o.Folder
		for _, name := range []string{"alpha-one.txt", "alpha-two.txt", "beta.txt"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b.pressKeys("read ./b", "\t", enter)
		if in := b.nextInput(); in.Text != "read ./beta.txt" {
			t.Errorf("sent %q", in.Text)
		}
		b.pressKeys("read ./a", "\t")
		b.checkShown("> read ./alpha-", "alpha-one.txt", "alpha-two.txt")
		b.pressKeys(down, "\t", enter)
		if in := b.nextInput(); in.Text != "read ./alpha-two.txt" {
			t.Errorf("sent %q", in.Text)
		}
	})
}

func TestUI_ShowsLostConnection(t *testing.T) {
	onScreen(t, 80, 24, func(b *bench) {
		b.pressKeys("kept text")
		b.ui.SetStatus(Status{Model: "local/llama", Offline: true})
		b.settleScreen(time.Second)
		b.checkShown("reconnecting", "> kept text")
	})
}

func TestLines_MarksPastesOnPlainTerminals(t *testing.T) {
	long := strings.Repeat("word ", channels.MaxTyped/5+1)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	var out strings.Builder
	inputs := (&Lines{In: read, Out: &out, Typed: true}).Inputs(t.Context())
	for _, tc := range []struct {
		typed, want string
		pastes      int
	}{
		{"short\n", "short", 0},
		{"one\ntwo\n", "one\ntwo", 0}, // too quick for a person
		{long + "\n", "[pasted text #1, 404 characters]", 1},
		{"/mine " + long + "\n", "/mine [pasted text #1, 404 characters]", 1},
	} {
		if _, err := write.WriteString(tc.typed); err != nil {
			t.Fatal(err)
		}
		if in := <-inputs; !strings.HasPrefix(in.Text, tc.want) || len(in.Pastes) != tc.pastes {
			t.Errorf("%.20q: %+v", tc.typed, in)
		}
	}
	_ = write.Close()
	if _, open := <-inputs; open {
		t.Error("the channel of inputs is not closed")
	}
}

// Notices never interrupt a line of an answer.
func TestLines_KeepsAnswersWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		reader bool
		want   string
	}{
		"plain":         {false, "half\na notice\nan answer\nHob asks: Run in /home/ada/Documents: /usr/bin/touch x.txt\n  It runs a program on this machine. Touch is not one of the read-only programs.\n  Details\n    exactly: run_command {\"command\":\"touch x.txt\",\"cwd\":\"/home/ada/Documents\"}\n  how\n"},
		"screen reader": {true, "Notification: a notice\nHob: halfan answer\nHob asks: Run in /home/ada/Documents: /usr/bin/touch x.txt\n  It runs a program on this machine. Touch is not one of the read-only programs.\n  Details\n    exactly: run_command {\"command\":\"touch x.txt\",\"cwd\":\"/home/ada/Documents\"}\n  how\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			p := &Lines{In: strings.NewReader("one\r\ntwo"), Out: &out, Reader: tc.reader}
			turn := p.NewTurn("")
			turn.AddText("half")
			p.Note(Notice, "a notice")
			turn.AddText("an answer\n")
			turn.End()
			p.Ask(approvalRequest("a1"), "how")
			if out.String() != tc.want {
				t.Errorf("printed %q, want %q", out.String(), tc.want)
			}
			var got []string
			for in := range p.Inputs(t.Context()) {
				got = append(got, in.Text)
			}
			if strings.Join(got, ",") != "one,two" || p.Err() != nil {
				t.Error(got, p.Err())
			}
		})
	}
}
