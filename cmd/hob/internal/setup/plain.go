package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"hob/platform/pim"
)

// Plain asks line by line, for screen readers, simple terminals, and pipes.
type Plain struct {
	In  *bufio.Reader
	Out io.Writer
	FD  int // file descriptor of the terminal; -1 if there is none, in which case secrets are read as plain lines
}

// leave is the input that skips a step.
const leave = "/skip"

// many is the maximum number of options that are listed.
const many = 20

// Ask implements Asker.
func (d *Plain) Ask(ctx context.Context, p Page) (Answers, error) {
	fmt.Fprintln(d.Out)
	if p.Number == 1 {
		fmt.Fprintf(d.Out, "Enter accepts the value in [brackets], %s skips a step, Ctrl-C stops. The next hob setup continues at that step.\n\n", leave)
	}
	title := pim.SanitizeText(p.Title)
	if p.Number > 0 {
		title = fmt.Sprintf("%d of %d: %s", p.Number, p.Of, title)
	}
	fmt.Fprintln(d.Out, title)
	if p.About != "" {
		fmt.Fprintln(d.Out, pim.SanitizeText(p.About))
	}
	out := Answers{}
	for _, q := range p.Questions {
		v, err := d.askQuestion(ctx, q)
		if err != nil {
			return nil, err
		}
		out[q.Key] = v
	}
	return out, nil
}

// askQuestion repeats a question until the answer is valid.
func (d *Plain) askQuestion(ctx context.Context, q Question) (string, error) {
	for {
		v, err := d.askOnce(ctx, q)
		if err != nil {
			return "", err
		}
		if err := q.Verify(v); err != nil {
			fmt.Fprintln(d.Out, pim.SanitizeText(err.Error()))
			continue
		}
		return v, nil
	}
}

func (d *Plain) askOnce(ctx context.Context, q Question) (string, error) {
	title := pim.SanitizeText(q.Title)
	if q.About != "" {
		fmt.Fprintln(d.Out, pim.SanitizeText(q.About))
	}
	switch q.Kind {
	case Secret:
		return d.readContext(ctx, func() (string, error) { return d.readHidden(title + ": ") })
	case YesNo:
		v, err := d.readLine(ctx, title, map[string]string{"true": "yes", "false": "no"}[q.Default])
		return yesNo(v), err
	case Choice, Several:
		return d.askChoice(ctx, q, title)
	}
	return d.readLine(ctx, title, q.Default)
}

func yesNo(s string) string {
	switch strings.ToLower(s) {
	case "y", "yes", "true":
		return "true"
	}
	return "false"
}

// askChoice accepts option numbers and values.
func (d *Plain) askChoice(ctx context.Context, q Question, title string) (string, error) {
	fmt.Fprintln(d.Out, title)
	for i, o := range q.Options[:min(len(q.Options), many)] {
		fmt.Fprintf(d.Out, "  %d  %s\n", i+1, pim.SanitizeLine(o.Title, 200))
	}
	if more := len(q.Options) - many; more > 0 {
		fmt.Fprintf(d.Out, "  and %d more; type a name\n", more)
	}
	prompt := "Your choice"
	if q.Kind == Several {
		prompt = "Your choices, separated by commas (- for none)"
	}
	var def []string
	for _, v := range Items(q.Default) {
		def = append(def, d.optionNumber(q, v))
	}
	if q.Kind == Several && len(def) == 0 {
		def = []string{"-"}
	}
	s, err := d.readLine(ctx, prompt, strings.Join(def, ","))
	if err != nil || s == "-" && q.Kind == Several {
		return "", err
	}
	var out []string
	for _, v := range Items(s) {
		if n, err := strconv.Atoi(v); err == nil && n >= 1 && n <= len(q.Options) {
			v = q.Options[n-1].Value
		}
		out = append(out, v)
	}
	return strings.Join(out, ","), nil
}

func (d *Plain) optionNumber(q Question, value string) string {
	if i := slices.Index(q.optionValues(), value); i >= 0 && i < many {
		return strconv.Itoa(i + 1)
	}
	return value
}

func (d *Plain) readLine(ctx context.Context, question, def string) (string, error) {
	if def != "" {
		question += " [" + pim.SanitizeText(def) + "]"
	}
	fmt.Fprint(d.Out, question+" ")
	s, err := d.readContext(ctx, func() (string, error) { return d.In.ReadString('\n') })
	if s == "" {
		s = def
	}
	return s, err
}

// readHidden reads a line without echo. It disables the echo before it prints the prompt, so that
// fast typing is also hidden.
func (d *Plain) readHidden(prompt string) (text string, err error) {
	if d.FD < 0 {
		fmt.Fprint(d.Out, prompt)
		return d.In.ReadString('\n')
	}
	was, err := term.MakeRaw(d.FD)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(d.FD, was)) }()
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{d.In, d.Out}, "")
	text, err = t.ReadPassword(prompt) // Ctrl-C ends the input
	if err == nil {
		text += "\n"
	}
	return text, err
}

// readContext waits for a line or for Ctrl-C. A pending terminal read cannot be canceled; it ends with
// the process.
func (d *Plain) readContext(ctx context.Context, from func() (string, error)) (string, error) {
	type line struct {
		text string
		err  error
	}
	state, _ := term.GetState(d.FD) // without a terminal, state is nil
	got := make(chan line, 1)
	go func() {
		s, err := from()
		got <- line{s, err}
	}()
	select {
	case <-ctx.Done():
		if state != nil { // otherwise the terminal would no longer show typed text
			_ = term.Restore(d.FD, state)
		}
		fmt.Fprintln(d.Out)
		return "", ErrLeft
	case l := <-got:
		s := strings.TrimSpace(l.text)
		switch {
		case l.err != nil && !errors.Is(l.err, io.EOF):
			return "", fmt.Errorf("read the answer: %w", l.err)
		case l.err != nil && l.text == "":
			fmt.Fprintln(d.Out)
			return "", ErrLeft
		case s == leave:
			return "", ErrSkip
		}
		return s, nil
	}
}
