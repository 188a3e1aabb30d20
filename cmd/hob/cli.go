package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"unicode/utf8"

	"golang.org/x/term"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/text/textnorm"
)

// The exit codes. Scripts depend on them.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNotRunning = 3
	exitDenied     = 4
	exitNewer      = 5
)

// engine is a Hob instance in this process; see internal/app.
type engine interface {
	Client() *http.Client // uses the API without a socket
	Run(ctx context.Context) error
	Ready() <-chan struct{}
	Addr() string // host:port the API is bound to
	Close() error
}

// engineOptions holds the parameters of an engine.
type engineOptions struct {
	Paths      system.Paths
	Config     *config.Config
	Log        *slog.Logger
	Version    string
	InProcess  bool // whether the engine serves one command instead of the daemon
	Foreground bool
	Restart    func() // see app.Options
	Release    release.Source
}

// cli is one run of the command line.
type cli struct {
	in      io.Reader
	out     io.Writer
	err     io.Writer
	version string
	open    func(ctx context.Context, o engineOptions) (engine, error)
	release release.Source // release data built into the program

	started bool // whether the command's own code ran; later errors are not usage errors
	asJSON  bool // whether --json is set
	edited  bool // whether the command changed the configuration
}

// failure is an error that ends the command with a code and a remedy.
type failure struct {
	code   int
	cause  string
	remedy string
	err    error
}

func (f *failure) Error() string {
	if f.remedy == "" {
		return f.cause
	}
	return f.cause + "; " + f.remedy
}

func (f *failure) Unwrap() error { return f.err }

func usageErrorf(format string, args ...any) error {
	return &failure{code: exitUsage, cause: fmt.Sprintf(format, args...)}
}

func notRunning() error {
	return &failure{code: exitNotRunning, cause: "Hob is not running", remedy: "start it with: hob start"}
}

// main runs the command and returns the exit code.
func (a *cli) main(ctx context.Context, args []string) int {
	root := a.rootCommand() //nolint:contextcheck // cobra hands ctx to the command that runs
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	if err := requireUTF8(args); err != nil {
		a.printError(err, exitUsage, root.Name())
		return exitUsage
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := exitFailed
	f, ok := failureIn(err)
	switch {
	case ok:
		code = f.code
	case errors.Is(err, errNewer):
		return exitNewer // the output is already printed
	case !a.started:
		code = exitUsage
	case errors.Is(err, context.Canceled):
		return 130 // the exit code that shells use after Ctrl-C
	}
	a.printError(err, code, cmd.CommandPath())
	return code
}

// requireUTF8 rejects arguments that are not valid UTF-8. JSON cannot represent such arguments: the
// encoder would replace bytes, and the result would be a different message or path.
func requireUTF8(args []string) error {
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return &failure{code: exitUsage, cause: fmt.Sprintf("the argument %q is not valid UTF-8", clipTo(arg, 60)), remedy: notUTF8Remedy}
		}
	}
	return nil
}

const notUTF8Remedy = "write it as UTF-8; rename files whose names are not UTF-8"

// clipTo returns at most the first n bytes of s. It appends "..." if it cuts s.
func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}

// printError prints a cause and its remedy, each on one line. With --json it prints an object, also
// on standard error.
func (a *cli) printError(err error, code int, command string) {
	cause, remedy := err.Error(), ""
	if f, ok := failureIn(err); ok {
		cause, remedy = f.cause, f.remedy
	}
	errs, _ := errors.AsType[config.Errors](err)
	_, isLine := errors.AsType[*config.Error](err)
	if len(errs) > 1 {
		remedy = "correct these lines, then run: hob config check"
	} else if remedy == "" {
		cause, remedy = textnorm.SplitRemedy(cause)
	}
	switch {
	case remedy != "":
	case isLine:
		remedy = "correct this line, then run: hob config check"
	case code == exitUsage:
		remedy = "see: " + command + " --help"
	}
	cause, remedy = sanitizePrintable(cause), sanitizePrintable(remedy) // cause and remedy may contain text from a server
	if a.asJSON {
		_ = json.NewEncoder(a.err).Encode(struct { // there is no place to report a write error
			Error  string `json:"error"`
			Remedy string `json:"remedy,omitempty"`
			Exit   int    `json:"exit"`
		}{cause, remedy, code})
		return
	}
	fmt.Fprintln(a.err, a.colorize(a.err, red, "hob: ")+cause)
	if remedy != "" {
		fmt.Fprintln(a.err, "     "+remedy)
	}
}

// loadHome returns the paths and, if it can be read, the configuration.
func (a *cli) loadHome() (system.Paths, *config.Config, error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return p, nil, err
	}
	c, err := revisionsOf(p).Load()
	return p, c, err
}

// loadHomeOrLast returns the folders and the configuration, or the last valid configuration if the
// file has a mistake.
func (a *cli) loadHomeOrLast() (system.Paths, *config.Config, error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return p, nil, err
	}
	c, err := revisionsOf(p).LoadOrLast()
	return p, c, err
}

func revisionsOf(p system.Paths) config.Revisions {
	return config.Revisions{Path: p.ConfigFile(), Dir: p.ConfigUndoDir()}
}

// warnBroken warns if c is the last valid configuration because the file has a mistake.
func (a *cli) warnBroken(c *config.Config) {
	if c.Replaces == nil {
		return
	}
	fmt.Fprintln(a.err, a.colorize(a.err, amber, "warning: ")+sanitizePrintable(c.Replaces.Error()))
	fmt.Fprintln(a.err, "         Hob uses the last valid configuration. Correct the file; check it with: hob config check")
}

// terminalFD returns the file descriptor of stream, and whether stream is a terminal.
func terminalFD(stream any) (int, bool) {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	fd := int(f.Fd()) //nolint:gosec // a file descriptor fits
	return fd, term.IsTerminal(fd)
}

// The colors, as ECMA-48 SGR parameters.
const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
	amber = "33"
)

// colorize colors text if w is a terminal, unless NO_COLOR is set (no-color.org).
func (a *cli) colorize(w io.Writer, color, text string) string {
	if _, tty := terminalFD(w); !tty || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return controlSequence(w, "\x1b["+color+"m") + text + controlSequence(w, "\x1b[0m")
}
