// Package doctor looks whether Hob can work here: the configuration, the
// folders, the database, the machine's clock and limits, the model and the
// channels. It changes nothing, and works with a broken configuration.
//
// The command `hob doctor` prints what it finds, and `hob config check` uses
// Drivers. It does not repair; every finding names its remedy.
package doctor

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/knowledge/store"
	"hob/platform/system"
)

// State is how a check came out.
type State string

// The states.
const (
	OK   State = "ok"
	Warn State = "warn" // works, not as well as it could
	Fail State = "fail" // does not work
)

// Check is one finding.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Cause  string `json:"cause"`  // what was found
	Remedy string `json:"remedy"` // "" when there is nothing to do
}

// Env is what the checks look at.
type Env struct {
	Paths  system.Paths
	Tables []store.Set    // what this program knows of the database
	Config *config.Config // the defaults when ConfigErr is set
	// ConfigErr is why the configuration cannot be used.
	ConfigErr error
	// Daemon is the process id of the running daemon, 0 when there is none, and
	// DaemonErr why a running one does not answer.
	Daemon    int
	DaemonErr error
	// Memory asks the running daemon how what derives from the memory stands; nil:
	// there is none to ask.
	Memory func(context.Context) ([]Derived, error)
	// Documents lists what it could not take in; nil likewise.
	Documents func(context.Context) ([]Document, error)
	// Erasures lists how far what was forgotten is gone; nil likewise.
	Erasures func(context.Context) ([]Erasure, error)
	// Template says which one is in use, and whether a change of it was begun and not
	// finished; nil leaves that out.
	Template func() (name string, pending bool, err error)
	// Agents are those that may not be able to work.
	Agents []Agent
	// Confined looks for the sandbox of commands; nil leaves that out.
	Confined Confined
	Secrets  system.Secrets
	Now      time.Time
	HTTP     *http.Client // for model servers; nil means one of its own
}

const lineRemedy = "correct the line, then run: hob config check"

// deadline bounds one check.
const deadline = 15 * time.Second

// Run makes every check, in an order in which the first failure is the one to
// mend first.
func Run(ctx context.Context, e Env) []Check {
	checks := []func(context.Context, Env) []Check{
		checkConfig, checkHome, checkDisk, checkToken, checkDatabase, checkDaemon, checkMemory, checkDocuments, checkForgetting,
		checkPort, checkZone, checkClock, checkSecrets, checkModel, checkBudget, checkEmbeddings, checkPolicy, checkAgents, checkCommands, checkChannels, checkDesktop, checkAccounts, checkSearch, checkTriggers, checkWatches, checkTemplates, checkLog,
	}
	var out []Check
	for _, c := range checks {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		out = append(out, c(ctx, e)...)
		cancel()
	}
	return out
}

// Failed reports whether something does not work.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.State == Fail {
			return true
		}
	}
	return false
}

func ok(name, cause string) []Check { return []Check{{name, OK, cause, ""}} }

func warn(name, cause, remedy string) []Check { return []Check{{name, Warn, cause, remedy}} }

func fail(name, cause, remedy string) []Check { return []Check{{name, Fail, cause, remedy}} }

// split parts an error into its cause and the remedy behind its last "; ",
// other when it has none.
func split(err error, other string) (cause, remedy string) {
	cause = err.Error()
	if i := strings.LastIndex(cause, "; "); i > 0 && !strings.Contains(cause, "\n") {
		return cause[:i], cause[i+2:]
	}
	return cause, other
}

// failed is fail for an error that may bring its own remedy.
func failed(name string, err error, other string) []Check {
	cause, remedy := split(err, other)
	return fail(name, cause, remedy)
}

func checkConfig(ctx context.Context, e Env) []Check {
	if errs, is := errors.AsType[config.Errors](e.ConfigErr); is {
		var out []Check
		for _, x := range errs {
			out = append(out, failed("config", x, lineRemedy)...)
		}
		return out
	}
	if e.ConfigErr != nil {
		return failed("config", e.ConfigErr, "")
	}
	if errs := Drivers(ctx, e.Config, e.Secrets); len(errs) > 0 {
		var out []Check
		for _, x := range errs {
			out = append(out, failed("config", x, lineRemedy)...)
		}
		return out
	}
	if len(e.Config.Warnings) > 0 {
		var out []Check
		for _, w := range e.Config.Warnings {
			cause, remedy := split(errors.New(w), "")
			out = append(out, warn("config", cause, remedy)...)
		}
		return out
	}
	return ok("config", e.Config.Path()+" is good")
}

func checkDaemon(_ context.Context, e Env) []Check {
	switch {
	case e.DaemonErr != nil:
		return fail("daemon", e.DaemonErr.Error(), "restart it: hob stop, then hob start")
	case e.Daemon == 0:
		return warn("daemon", "Hob is not running: no watcher, schedule or reminder works", "start it: hob start")
	}
	return ok("daemon", "runs and answers")
}
