package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hob/platform/text/sorting"
)

// maxScript is the maximum size of a script in bytes.
const maxScript = 16 << 20

// InputKind is the kind of an input.
type InputKind string

// The kinds of inputs; docs/simulation.md describes them.
const (
	Says      InputKind = "message" // the owner sends a message
	Writes    InputKind = "chat"    // another person writes on a channel
	Mail      InputKind = "mail"    // an email arrives
	Event     InputKind = "event"   // an event is added to the calendar or replaced
	File      InputKind = "file"    // a file appears or changes
	Remove    InputKind = "remove"  // a file is deleted
	Web       InputKind = "web"     // sets the content of an address
	Call      InputKind = "call"    // the owner calls a tool
	Reply     InputKind = "answer"  // the owner answers an approval request
	Away      InputKind = "away"    // Hob does not run for some time
	configure InputKind = "config"  // additional configuration
	model     InputKind = "model"   // the model's next answer
	earliest            = "start"   // used for inputs before Hob starts
)

// Input is one input in a script.
type Input struct {
	Kind InputKind
	Line int
	// To is the target, such as a conversation, an account, a path, an address or a tool. More is
	// the rest of the line.
	To, More string
	Body     string

	when scriptTime
	span time.Duration // duration for Away
}

// Script lists the inputs during the simulated time.
type Script struct {
	Inputs  []Input
	Answers []string // the model's answers, in order
	Config  string   // additional configuration
}

// scriptTime is a time in a script, relative to the first day or with a date.
type scriptTime struct {
	early          bool
	day            int // day number starting at 1; 0 if date is set
	date           time.Time
	hour, min, sec int
}

func (w scriptTime) timeIn(start time.Time) time.Time {
	y, m, d := w.date.Date()
	if w.day > 0 {
		y, m, d = start.Date()
		d += w.day - 1
	}
	return time.Date(y, m, d, w.hour, w.min, w.sec, 0, start.Location())
}

// step is an input with its absolute time.
type step struct {
	Input
	at    time.Time
	early bool
}

// sortedSteps returns the inputs in order of time. The initial inputs come first.
func (s *Script) sortedSteps(start time.Time) []step {
	var out []step
	for _, in := range s.Inputs {
		x := step{Input: in, early: in.when.early}
		if x.at = start; !x.early {
			x.at = in.when.timeIn(start)
		}
		x.Body = in.expandedBody(start)
		out = append(out, x)
	}
	sorting.StableByFunc(out, func(a, b step) int {
		if a.early != b.early {
			return map[bool]int{true: -1, false: 1}[a.early]
		}
		return a.at.Compare(b.at)
	})
	return out
}

// ScriptError is a mistake in a script.
type ScriptError struct {
	Name string
	Line int
	Err  error
}

func (e *ScriptError) Error() string { return fmt.Sprintf("%s:%d: %v", e.Name, e.Line, e.Err) }

// Unwrap implements errors.Unwrap.
func (e *ScriptError) Unwrap() error { return e.Err }

// Parse parses a script. It consists of sections that begin with a line "-- WHEN KIND ... --", as
// in a txtar archive. An error is a *ScriptError.
func Parse(name string, r io.Reader) (*Script, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return nil, err
	}
	bad := func(line int, err error) error { return &ScriptError{name, line, err} }
	if len(b) > maxScript {
		return nil, bad(1, fmt.Errorf("larger than %d MB", maxScript>>20))
	}
	s := &Script{}
	line := 0
	var head string
	var at int
	var body bytes.Buffer
	section := func() error {
		if head == "" {
			return nil
		}
		in, err := parseHead(head)
		if err == nil {
			in.Line, in.Body = at, body.String()
			err = s.addInput(in)
		}
		if err != nil {
			return bad(at, err)
		}
		return nil
	}
	for text := range bytes.Lines(b) {
		line++
		if !utf8.Valid(text) {
			return nil, bad(line, errors.New("not valid UTF-8"))
		}
		trimmed := strings.TrimRight(string(text), " \t\r\n")
		if h, is := parseMarker(trimmed); is {
			if err := section(); err != nil {
				return nil, err
			}
			head, at = h, line
			body.Reset()
			continue
		}
		if head != "" {
			body.Write(text)
		} else if trimmed != "" && !strings.HasPrefix(trimmed, "#") {
			return nil, bad(line, errors.New(`a line such as "-- day 1 09:00 message --" is missing before this text; comments begin with "#"`))
		}
	}
	if err := section(); err != nil {
		return nil, err
	}
	return s, nil
}

func parseMarker(line string) (string, bool) {
	rest, ok := strings.CutPrefix(line, "-- ")
	if !ok {
		return "", false
	}
	rest, ok = strings.CutSuffix(rest, " --")
	return strings.TrimSpace(rest), ok && strings.TrimSpace(rest) != ""
}

// parseHead parses a line such as "day 2 09:30 mail work".
func parseHead(head string) (in Input, err error) {
	f := strings.Fields(head)
	switch {
	case f[0] == string(model) || f[0] == string(configure):
		if in.Kind = InputKind(f[0]); len(f) > 1 {
			return in, fmt.Errorf("%q accepts no time and no name", f[0])
		}
		return in, nil
	case f[0] == earliest:
		in.when.early, f = true, f[1:]
	case f[0] == "day" && len(f) > 2:
		if in.when.day, err = strconv.Atoi(f[1]); err != nil || in.when.day < 1 || in.when.day > MaxDays {
			return in, fmt.Errorf("the day must be a number from 1 to %d, not %q", MaxDays, f[1])
		}
		err = in.when.parseClock(f[2])
		f = f[3:]
	default:
		if in.when.date, err = time.Parse(time.DateOnly, f[0]); err != nil || len(f) < 2 {
			return in, fmt.Errorf(`%q does not begin with a time; write "day 2 09:30", "2026-11-24 09:30" or "start"`, head)
		}
		err = in.when.parseClock(f[1])
		f = f[2:]
	}
	if err != nil {
		return in, err
	}
	if len(f) == 0 {
		return in, errors.New("the kind of input is missing after the time: " + inputKinds())
	}
	if in.Kind = InputKind(f[0]); in.Kind == model || in.Kind == configure {
		return in, fmt.Errorf("%q accepts no time; write \"-- %[1]s --\"", in.Kind)
	}
	if len(f) > 1 {
		in.To, in.More = f[1], strings.Join(f[2:], " ")
	}
	return in, nil
}

func (w *scriptTime) parseClock(s string) error {
	for _, form := range []string{"15:04", "15:04:05"} {
		if t, err := time.Parse(form, s); err == nil {
			w.hour, w.min, w.sec = t.Hour(), t.Minute(), t.Second()
			return nil
		}
	}
	return fmt.Errorf(`the time of day must look like "09:30" or "09:30:15", not %q`, s)
}

func inputKinds() string {
	var out []string
	for _, k := range []InputKind{Says, Writes, Mail, Event, File, Remove, Web, Call, Reply, Away} {
		out = append(out, string(k))
	}
	return strings.Join(out, ", ")
}

// addInput checks an input and adds it.
func (s *Script) addInput(in Input) (err error) {
	text := strings.TrimSpace(in.Body)
	need := func(what string) error {
		if in.To == "" {
			return fmt.Errorf("%s needs %s after it", in.Kind, what)
		}
		return nil
	}
	switch in.Kind {
	case model:
		s.Answers = append(s.Answers, text)
		_, err = parseAnswer(text)
		return err
	case configure:
		s.Config += in.Body
		return nil
	case Says:
		if text == "" {
			err = errors.New("the user's message is missing after this line")
		}
	case Writes:
		if err = need("a channel and a sender"); err == nil && in.More == "" {
			err = errors.New("the sender is missing after the channel")
		}
	case Mail:
		if err = need("an account"); err == nil {
			_, err = mail.ReadMessage(strings.NewReader(strings.TrimLeft(in.Body, "\r\n")))
		}
		if err != nil && in.To != "" {
			err = fmt.Errorf("not an email: %w; write headers, an empty line and the text", err)
		}
	case Event:
		if err = need("an account"); err == nil {
			_, err = parseEvent(in.expandedBody(time.Now()), time.UTC)
		}
	case File, Remove:
		if err = need("a path"); err == nil {
			_, err = (&play{users: "/"}).inHome(strings.TrimSpace(in.To + " " + in.More))
		}
	case Web:
		err = need("an address")
		if err == nil {
			_, _, err = in.parsePage()
		}
	case Call:
		if err = need("a tool"); err == nil && text != "" && !json.Valid([]byte(text)) {
			err = errors.New("the tool's arguments are not valid JSON")
		}
	case Reply:
		if in.To != "yes" && in.To != "no" {
			err = errors.New(`write "answer yes" or "answer no", followed by the tool or words from the request if several may be open`)
		}
	case Away:
		if in.span, err = time.ParseDuration(in.To); err != nil || in.span <= 0 {
			err = fmt.Errorf(`write a duration, such as "away 8h", not %q`, in.To)
		}
	default:
		return fmt.Errorf("unknown input %q; known inputs: %s, and without a time %s and %s", in.Kind, inputKinds(), model, configure)
	}
	if err == nil && in.when.early && !slices.Contains([]InputKind{Mail, Event, File, Web}, in.Kind) {
		err = fmt.Errorf("%s needs a time: only mail, event, file and web are possible before Hob starts", in.Kind)
	}
	s.Inputs = append(s.Inputs, in)
	return err
}

// parsePage returns the status and the address of a web input.
func (in Input) parsePage() (status int, at *url.URL, err error) {
	status, text := 200, in.To
	if n, err := strconv.Atoi(in.To); err == nil {
		status, text = n, in.More
	}
	at, err = url.Parse(text)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || status < 200 || status > 599 {
		return 0, nil, fmt.Errorf(`%q must be an address such as "https://example.org/feed.xml", optionally with a status such as 404 before it`, strings.TrimSpace(in.To+" "+in.More))
	}
	return status, at, nil
}

// expandedBody returns the body with times such as "{day 2 10:00}" replaced by dates, so that a
// feed or an event in the script needs no fixed date.
func (in Input) expandedBody(start time.Time) string {
	if in.Kind == File || !strings.Contains(in.Body, "{day ") {
		return in.Body
	}
	var b strings.Builder
	rest := in.Body
	for {
		before, after, ok := strings.Cut(rest, "{day ")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		inner, tail, ok := strings.Cut(after, "}")
		t, err := parseHead("day " + inner + " x")
		if !ok || err != nil {
			b.WriteString("{day ")
			rest = after
			continue
		}
		b.WriteString(t.when.timeIn(start).Format(time.RFC3339))
		rest = tail
	}
}
