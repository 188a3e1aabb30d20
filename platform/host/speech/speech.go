// Package speech reads text aloud. It uses say on macOS, SAPI on Windows, and speech-dispatcher or
// espeak-ng on Linux. The text is passed on standard input, so that it does not appear in the
// process list.
package speech

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/platform/host/osrun"
	"hob/platform/text/lazyregexp"
)

// MaxText is the maximum length of the text in characters, about five minutes of speech.
const MaxText = 4000

// maxTime is the time limit for reading one text aloud.
const maxTime = 8 * time.Minute

// Errors of a Voice. Wrapping errors name the remedy.
var (
	ErrTooLong = fmt.Errorf("text is longer than %d characters", MaxText)
	ErrEmpty   = errors.New("text contains nothing to read aloud")
	// ErrStopped means that the context or the time limit ended before the text had been read.
	ErrStopped = errors.New("reading aloud was stopped")
)

// Options of a Voice; the zero value is useful.
type Options struct {
	// Getenv is os.Getenv unless a test replaces it.
	Getenv func(string) string
	// Scripts runs PowerShell; nil creates a runner.
	Scripts osrun.Runner
}

// Voice reads text aloud. Concurrent calls wait for each other.
type Voice struct {
	back backend
	turn chan struct{} // semaphore of size 1: one text is read at a time
}

type backend interface {
	sayText(ctx context.Context, text, language string) error
}

// New returns a Voice. It starts no program.
func New(o Options) *Voice {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Scripts == nil {
		o.Scripts = osrun.NewScripts(osrun.Options{Getenv: o.Getenv})
	}
	return newVoice(newBackend(o))
}

func newVoice(b backend) *Voice { return &Voice{b, make(chan struct{}, 1)} }

var languagePattern = lazyregexp.New(`^[a-z]{2,3}$`)

// Say reads text aloud and returns when it has finished. language is a code such as "de"; ""
// selects the system's language. Say waits until earlier calls have ended, and stops when ctx ends.
func (v *Voice) Say(ctx context.Context, text, language string) error {
	text = speakableText(text)
	switch {
	case text == "":
		return ErrEmpty
	case utf8.RuneCountInString(text) > MaxText:
		return ErrTooLong
	case language != "" && !languagePattern.MatchString(language):
		return fmt.Errorf("invalid language code %q; use a code such as en or de", language)
	}
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrStopped, ctx.Err())
	}
	bound, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	err := v.back.sayText(bound, text, language)
	if bound.Err() != nil {
		return fmt.Errorf("%w: %w", ErrStopped, bound.Err())
	}
	return err
}

// speakableText removes characters that no voice reads, and then the markup that voices interpret:
// SSML tags and macOS's "[[" commands. It removes markup last, because removing other characters
// could join two halves of a command.
func speakableText(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.NewReplacer("[", " ", "]", " ", "<", " ", ">", " ").Replace(text)
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return ""
	}
	return strings.Join(strings.Fields(text), " ")
}

// errLanguage is returned if a language is requested that the system cannot select. The system
// voice must not be used instead, because it would read the text as if it were in the voice's
// language.
var errLanguage = fmt.Errorf("the language cannot be selected on this system: %w; leave the language empty to use the system voice", errors.ErrUnsupported)

// sayVoice uses the program of macOS (man say).
type sayVoice struct {
	run     osrun.Programs
	program string
}

func (s sayVoice) sayText(ctx context.Context, text, language string) error {
	if language != "" {
		return errLanguage
	}
	_, err := s.run.Run(ctx, []byte(text), s.program, "-f", "-")
	return err
}

//go:embed speak.ps1
var speakText string

func speakScript() osrun.Script { return osrun.NewScript("speech/speak.ps1", speakText) }

// sapiVoice uses the voice of Windows.
type sapiVoice struct{ scripts osrun.Runner }

type sapiRequest struct {
	Text string `json:"text"`
}

func (s sapiVoice) sayText(ctx context.Context, text, language string) error {
	if language != "" {
		return errLanguage
	}
	return s.scripts.Run(ctx, osrun.Call{Script: speakScript(), In: sapiRequest{text}, Write: true, Wait: maxTime}, nil)
}

// unixVoice uses the programs of Linux: speech-dispatcher, which applies the user's voice settings,
// or espeak-ng.
type unixVoice struct{ run osrun.Programs }

func (u unixVoice) sayText(ctx context.Context, text, language string) error {
	err := osrun.ErrNoProgram
	if u.run.Find("spd-say") != "" {
		args := []string{"--wait", "--pipe-mode", "--application-name", "hob"}
		if language != "" {
			args = append(args, "--language", language)
		}
		// Lines that begin with "!-!" are commands to the server; the leading space prevents that.
		if _, err = u.run.Run(ctx, []byte(" "+text+"\n"), "spd-say", args...); err == nil {
			return nil
		}
		if ctx.Err() != nil { // speech-dispatcher continues without its client
			stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			_, _ = u.run.Run(stop, nil, "spd-say", "--cancel")
			return err
		}
	}
	for _, program := range []string{"espeak-ng", "espeak"} {
		if u.run.Find(program) == "" {
			continue
		}
		args := []string{"-b", "1", "--stdin"}
		if language != "" {
			args = append(args, "-v", language)
		}
		_, err = u.run.Run(ctx, []byte(text), program, args...)
		return err
	}
	return fmt.Errorf("no speech engine found: %w; install espeak-ng or speech-dispatcher", err)
}
