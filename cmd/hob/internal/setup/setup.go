// Package setup asks for everything that Hob needs: a model and its key, channels, an account, the
// web search provider, folders, quiet hours, a template, features, and system permissions.
//
// A Step is data: its questions, and the result of the answers. Run asks on a terminal with an
// Asker, and FromFile reads a file; a web form can use Steps in the same way. Keys and passwords
// are tested before they are stored in the keychain or the encrypted file. The configuration
// contains only references to them. Each step is written when it is complete, and its progress is
// saved, so an interrupted setup can continue.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hob/autonomy/config"
	llmall "hob/autonomy/llm/all"
	"hob/cmd/hob/internal/channel"
	"hob/platform/host/permission"
	"hob/platform/host/system"
	"hob/platform/pim"
	"hob/platform/pim/signin"
)

// Errors that an Asker returns instead of answers.
var (
	// ErrSkip skips the step.
	ErrSkip = errors.New("the step was skipped")
	// ErrLeft stops the setup; completed steps are kept.
	ErrLeft = errors.New("setup was stopped")
)

// Asker shows the questions on a page to the user. Any error except ErrSkip and ErrLeft also ends
// the setup.
type Asker interface {
	Ask(ctx context.Context, p Page) (Answers, error)
}

// Options holds the options of Run and FromFile.
type Options struct {
	Paths   system.Paths
	Config  *config.Config
	Secrets system.Secrets
	Out     io.Writer
	HTTP    *http.Client // client for model servers; nil means the default client
	// Servers are the local servers to probe. Nil means the default addresses.
	Servers []llmall.Server
	// DNS finds the servers for an email address that is not in the table. Nil disables the lookup.
	DNS signin.Resolver
	// Edit changes the configuration with an undo entry. If it is nil, changes have no undo entry.
	Edit func(ctx context.Context, what string, edit func() error) error
	// Templates returns the available templates and the active one. It is nil if there are none.
	Templates func() (list []Option, inUse string, err error)
	// FindTemplate checks that a template exists, by name or path. If it is nil, the check is
	// skipped.
	FindTemplate func(name string) error
	// UseTemplate installs a template.
	UseTemplate func(ctx context.Context, name string) error
	// Autostart enables or disables the start with the session. If it is nil, the setup does not
	// ask about it.
	Autostart func(ctx context.Context, on bool) error
	// Starts reports whether Hob starts at login. known is false if this cannot be determined.
	Starts func(ctx context.Context) (on, known bool)
	// Permissions returns the system permissions that the user must grant, as seen by the daemon,
	// or by this program if no daemon runs. It is nil if there are none.
	Permissions func(ctx context.Context) ([]permission.Permission, error)
	// Open opens an address such as a page in the system settings.
	Open func(ctx context.Context, address string) error
	// Offered reports whether a channel can be set up. If it is nil, all channels of this program
	// that work on this system can be set up.
	Offered func(channel string) bool
	// TestChannel tests a channel with the new configuration. If it is nil, the test is skipped.
	TestChannel func(ctx context.Context, name string) (channel.Tested, error)
	// Stdin returns the next line of standard input, for answers that refer to standard input.
	Stdin func() (string, error)
}

// completeText ends the setup.
const completeText = `Setup is complete. Try these next:
  hob chat                                 talk to Hob
  hob reminder add stretch --at "in 1 minute"
  hob open                                 open the dashboard
More steps: hob setup you search folders template features`

// Run asks the questions of the incomplete steps that are not extra, or of the named steps, and applies each step
// immediately.
func Run(ctx context.Context, o Options, ask Asker, names ...string) error {
	if err := o.Paths.Ensure(); err != nil {
		return err
	}
	steps, err := o.selectSteps(ctx, names)
	if err != nil {
		return err
	}
	p := readProgress(o.Paths)
	resume := len(names) == 0 && p.hasAny(steps)
	if resume {
		fmt.Fprintln(o.Out, "Setup continues where you stopped. (To start over: hob setup --restart)")
	}
	for i, s := range steps {
		if resume && p.Steps[s.Name] != "" {
			continue
		}
		number, of := i+1, len(steps)
		if len(names) > 0 {
			number, of = 0, 0
		}
		if len(names) > 0 && s.Shown != nil && !s.Shown(ctx, o) {
			fmt.Fprintf(o.Out, "%s: not needed here.\n", s.Title)
			continue
		}
		state, err := o.runStep(ctx, s, ask, number, of)
		if err != nil {
			return err
		}
		if o.Config, err = config.Load(o.Paths.ConfigFile()); err != nil {
			return err
		}
		if len(names) > 0 {
			continue
		}
		if err := p.saveStep(o.Paths, s.Name, state); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		return nil
	}
	fmt.Fprintln(o.Out, completeText)
	return Restart(o.Paths)
}

// selectSteps returns the steps to run.
func (o Options) selectSteps(ctx context.Context, names []string) (out []Step, err error) {
	all := Steps()
	for _, n := range names {
		if n == "mail" || n == "email" || n == "calendar" {
			n = "account"
		}
		i := slices.IndexFunc(all, func(s Step) bool { return s.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("unknown step %s", unknownStep(n))
		}
		out = append(out, all[i])
	}
	if len(names) > 0 {
		return out, nil
	}
	for _, s := range all {
		if !s.Extra && (s.Shown == nil || s.Shown(ctx, o)) {
			out = append(out, s)
		}
	}
	return out, nil
}

func unknownStep(name string) string {
	if near := config.SuggestName(name, Names()); near != "" {
		return quoteText(name) + "; did you mean " + quoteText(near) + "?"
	}
	return quoteText(name) + "; known steps are " + strings.Join(Names(), ", ")
}

// runStep asks the questions of one step and applies the result. It returns whether the step was
// done or skipped.
func (o Options) runStep(ctx context.Context, s Step, ask Asker, number, of int) (string, error) {
	page := Page{Step: s.Name, Title: s.Title, About: s.About, Number: number, Of: of}
	d, err := o.runQuestions(ctx, s, func(qs []Question) (Answers, error) {
		p := page
		p.Questions = qs
		page.About = "" // show the description only once
		return ask.Ask(ctx, p)
	}, func(p *Problem) (string, error) { return o.askHowToFix(ctx, ask, page, p) })
	if errors.Is(err, ErrSkip) {
		fmt.Fprintf(o.Out, "%s: unchanged.\n", s.Title)
		return stateSkipped, nil
	}
	if err != nil {
		return "", err
	}
	return stateDone, o.applyResult(ctx, s.Name, d)
}

// runQuestions asks until a step has all answers and they work. It calls fix with answers that do
// not work. fix returns whether to keep them anyway.
func (o Options) runQuestions(ctx context.Context, s Step, ask func([]Question) (Answers, error), fix func(*Problem) (string, error)) (StepResult, error) {
	a, was := Answers{}, Answers{}
	for {
		qs, err := s.Next(ctx, o, a)
		if err == nil && len(qs) == 0 {
			d, err := s.Apply(ctx, o, a)
			if err == nil {
				return d, nil
			}
			if err := removeBadAnswers(ctx, a, err, fix); err != nil {
				return StepResult{}, err
			}
			continue
		}
		if err == nil {
			var got Answers
			if got, err = ask(withPreviousAnswers(qs, was)); err == nil {
				maps.Copy(a, got)
				maps.Copy(was, got)
				continue
			}
			return StepResult{}, err
		}
		if err := removeBadAnswers(ctx, a, err, fix); err != nil {
			return StepResult{}, err
		}
	}
}

// withPreviousAnswers sets the previous answers as defaults when questions are repeated.
func withPreviousAnswers(qs []Question, was Answers) []Question {
	for i, q := range qs {
		if v, ok := was[q.Key]; ok && q.Kind != Secret && q.Verify(v) == nil {
			qs[i].Default = v
		}
	}
	return qs
}

// removeBadAnswers removes the rejected answers, so that setup asks for them again.
func removeBadAnswers(ctx context.Context, a Answers, err error, fix func(*Problem) (string, error)) error {
	p, ok := errors.AsType[*Problem](err)
	if !ok || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	choice, err := fix(p)
	switch {
	case err != nil:
		return err
	case choice == choiceKeep:
		a[untested] = "true"
		return nil
	case choice == choiceAccept:
		a[p.Offer.Key] = p.Offer.Value
		return nil
	}
	for _, k := range p.Keys {
		delete(a, k)
	}
	return nil
}

// askHowToFix asks what to do about answers that failed.
func (o Options) askHowToFix(ctx context.Context, ask Asker, page Page, p *Problem) (choice string, err error) {
	q := Question{Key: "what_now", Kind: Choice, Title: "How should setup continue?", Default: "again", Options: []Option{{"again", "try again"}}}
	if p.Offer != nil {
		q.Options = append(q.Options, Option{choiceAccept, p.Offer.Title})
	}
	if p.Keep {
		q.Options = append(q.Options, Option{choiceKeep, "save it anyway; it may work later"})
	}
	q.Options = append(q.Options, Option{"skip", "skip this step"})
	page.About, page.Questions = "This does not work: "+pim.SanitizeText(p.Error()), []Question{q}
	a, err := ask.Ask(ctx, page)
	switch {
	case err != nil:
		return "", err
	case a[q.Key] == "skip":
		return "", ErrSkip
	}
	return a[q.Key], nil
}

// Answers to the question of askHowToFix.
const (
	choiceKeep   = "keep"   // save the answers without a test
	choiceAccept = "accept" // add the answer that the problem offers
)

// applyResult applies the result of a step.
func (o Options) applyResult(ctx context.Context, name string, d StepResult) error {
	changes, err := o.writeResult(ctx, "setup: "+name, d)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintf(o.Out, "  %s = %s\n", c.Key, c.New)
	}
	for _, s := range d.Said {
		fmt.Fprintln(o.Out, "  "+pim.SanitizeText(s))
	}
	if d.Then == nil {
		return nil
	}
	if err := d.Then(ctx); err != nil && ctx.Err() == nil { // the remaining steps do not depend on this one
		fmt.Fprintf(o.Out, "  This did not work: %v\n", err)
	}
	return ctx.Err()
}

// showBusy prints a message while setup waits.
func (o Options) showBusy(what string) { fmt.Fprintln(o.Out, "  "+what) }
