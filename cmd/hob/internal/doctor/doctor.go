// Package doctor looks whether Hob can work here: the configuration, the
// folders, the database, the machine's clock and limits, the model, the channels,
// the accounts and the desktop. It works with a broken configuration.
//
// Probes is the one list of what is looked at. Each probe is run beside the others
// and has a time of its own, so that one that hangs holds up nobody. The daemon
// runs them where there is one, since rights such as those of macOS belong to the
// process that asks; the command `hob doctor` runs them itself where there is none.
// `hob setup` runs some by name, and `hob config check` uses Drivers.
//
// It changes nothing unless it is asked to, and then only what can be mended
// without losing anything. Every finding names its remedy.
package doctor

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"hob/autonomy/config"
	"hob/knowledge/store"
	"hob/platform/osrun"
	"hob/platform/system"
)

// State is how a check came out.
type State string

// The states.
const (
	OK   State = "ok"
	Warn State = "warn"    // works, not as well as it could
	Fail State = "fail"    // does not work
	Skip State = "skipped" // could not be looked at, which is never "ok"
)

// Check is one finding.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Cause  string `json:"cause"`  // what was found
	Remedy string `json:"remedy"` // "" when there is nothing to do
	// Link opens where the system lets the owner mend it; "" = there is no such place.
	Link string `json:"link,omitempty"`
	// Fixable: Run with Options.Fix mends it. Fixed is what it did.
	Fixable bool   `json:"fixable,omitempty"`
	Fixed   string `json:"fixed,omitempty"`
	// In is who looked: "daemon" or "command".
	In string `json:"in,omitempty"`

	fix Fix
}

// Fix mends what a check found and says what it did. It never takes anything away
// that cannot be made again.
type Fix func(ctx context.Context) (said string, err error)

// Env is what the checks look at.
type Env struct {
	Paths   system.Paths
	Version string // of this program
	// Program is the absolute path of this program, "" when it is not known.
	Program string
	Tables  []store.Set    // what this program knows of the database
	Config  *config.Config // the defaults when ConfigErr is set
	// ConfigErr is why the configuration cannot be used.
	ConfigErr error
	// Load reads the configuration again, after something was mended; optional.
	Load func() (*config.Config, error)
	// Stale: Hob runs with another configuration than the file holds now.
	Stale bool
	// Daemon is the process id of the running daemon, 0 when there is none, and
	// DaemonErr why a running one does not answer.
	Daemon    int
	DaemonErr error
	// What only the running daemon knows; nil: this is not the daemon. Memory is how
	// what derives from the memory stands, Documents what could not be taken in,
	// Erasures how far what was forgotten is gone, Channels how those work, and Reindex
	// makes the index anew.
	Memory    func(context.Context) ([]Derived, error)
	Documents func(context.Context) ([]Document, error)
	Erasures  func(context.Context) ([]Erasure, error)
	Channels  func() []Channel
	Reindex   func(context.Context) error
	// TestChannel signs in to a channel of the configuration and sends nothing; nil
	// leaves that out.
	TestChannel func(ctx context.Context, c *config.Config, name string) (said string, err error)
	// Browses reports whether the daemon's browser runs; nil: this is not the daemon.
	Browses func() bool
	// Tray: this is the daemon, and it shows the icon.
	Tray bool
	// Template says which one is in use, and whether a change of it was begun and not
	// finished; nil leaves that out.
	Template func() (name string, pending bool, err error)
	// Agents are those that may not be able to work.
	Agents []Agent
	// Confined looks for the sandbox of commands; nil leaves that out.
	Confined Confined
	Secrets  system.Secrets
	// Scripts runs what speaks to the programs of this machine; nil: there are none
	// that understand it.
	Scripts osrun.Runner
	// Desktop: the real screen may be looked at. Starts: a program may be started to
	// see whether it can be. A test, which must not reach the desktop of whoever runs
	// it, sets neither.
	Desktop, Starts bool
	Getenv          func(string) string // nil means os.Getenv
	Now             time.Time
	HTTP            *http.Client // for model servers; nil means one of its own

	dates *dates
}

// Probe is one entry of the list.
type Probe struct {
	// Name is what `hob doctor NAME` runs. Findings have it as their name, or begin
	// with it.
	Name string
	// Also are names of findings that are not its own; one that ends with a blank
	// stands for all that begin with it.
	Also []string
	// Means is what it is for: what does not work when it fails.
	Means string
	// After are the probes that must have ended before this one begins.
	After []string
	// Here: it is about the command itself, which looks even where a daemon runs.
	Here bool
	Run  func(context.Context, Env) []Check
}

// Probes lists what is looked at, in an order in which the first failure is the one
// to mend first.
func Probes() []Probe {
	return []Probe{
		{Name: "config", Means: "errors in config.toml, which prevent the start", Run: checkConfig},
		{Name: "home", Means: "the folders with all data of Hob", Run: checkHome},
		{Name: "files", Means: "private permissions of Hob's files", Run: checkFiles},
		{Name: "leftovers", Means: "leftover files of an interrupted Hob", Run: checkLeftovers},
		{Name: "disk", Means: "free disk space", Run: checkDisk},
		{Name: "token", Means: "the token of the command line and the web page", Run: checkToken},
		{Name: "database", Means: "the database with all items and plans", Run: checkDatabase},
		{Name: "backup", Means: "backups for a disk failure", Run: checkBackup},
		{Name: "daemon", Means: "the background process for watchers, schedules and reminders", Here: true, Run: checkDaemon},
		{Name: "autostart", Means: "start of Hob at login", Run: checkAutostart},
		{Name: "memory", Means: "the search index of the memory", Run: checkMemory},
		{Name: "documents", Means: "folders with synchronized documents", Run: checkDocuments},
		{Name: "days off", Means: "calendars of days off for schedules", Run: checkDaysOff},
		{Name: "forgetting", Means: "completion of permanent deletions", Run: checkForgetting},
		{Name: "port", Also: []string{"reach"}, Means: "the address for the web page and the command line", Run: checkPort},
		{Name: "zone", Means: "the time zone of displayed and stored times", Run: checkZone},
		{Name: "clock", Means: "schedules, certificates and one-time codes need the right time", After: []string{"model", "embeddings"}, Run: checkClock},
		{Name: "keychain", Means: "storage of passwords and keys", Run: checkKeychain},
		{Name: "secrets", Means: "readability of referenced secrets", Run: checkSecrets},
		{Name: "model", Also: []string{"fallback", "small model"}, Means: "what thinks", Run: checkModel},
		{Name: "budget", Means: "limits on the cost of models", Run: checkBudget},
		{Name: "embeddings", Means: "vector search of the memory", Run: checkEmbeddings},
		{Name: "policy", Means: "your policy rules; an invalid file denies every call", Run: checkPolicy},
		{Name: "agents", Also: []string{"agent "}, Means: "agents in separate containers", Run: checkAgents},
		{Name: "commands", Means: "the sandbox of commands", Run: checkCommands},
		{Name: "channels", Also: []string{"channel "}, Means: "messaging channels", Run: checkChannels},
		{Name: "desktop", Also: []string{"presence"}, Means: "desktop notifications and presence detection", Run: checkDesktop},
		{Name: "tray", Means: "the tray icon and its menu", Run: checkTray},
		{Name: "session", Means: "tools for the screen, windows and the clipboard", Run: checkSession},
		{Name: "permissions", Means: "macOS permissions that you grant manually", Run: checkPermissions},
		{Name: "scripts", Means: "scripting of macOS and Windows apps", Run: checkScripts},
		{Name: "accounts", Also: []string{"account "}, Means: "your mail, calendars and contacts", Run: checkAccounts},
		{Name: "web", Means: "web search", Run: checkSearch},
		{Name: "browser", Means: "the automated browser", Run: checkBrowser},
		{Name: "triggers", Also: []string{"trigger "}, Means: "calls from other programs", Run: checkTriggers},
		{Name: "watches", Means: "detection of file changes", Run: checkWatches},
		{Name: "template", Means: "consistency of settings, personality and schedules", Run: checkTemplates},
		{Name: "log", Means: "errors of the last day", Run: checkLog},
	}
}

// covers reports whether the probe is meant by a name.
func (p Probe) covers(name string) bool {
	return name == p.Name || slices.ContainsFunc(p.Also, func(a string) bool {
		return name == strings.TrimSpace(a) || strings.HasSuffix(a, " ") && strings.HasPrefix(name, a)
	})
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

func ok(name, cause string) []Check { return []Check{{Name: name, State: OK, Cause: cause}} }

func warn(name, cause, remedy string) []Check {
	return []Check{{Name: name, State: Warn, Cause: cause, Remedy: remedy}}
}

func fail(name, cause, remedy string) []Check {
	return []Check{{Name: name, State: Fail, Cause: cause, Remedy: remedy}}
}

// skip is for what could not be looked at.
func skip(name, cause, remedy string) []Check {
	return []Check{{Name: name, State: Skip, Cause: cause, Remedy: remedy}}
}

// with gives findings the way to mend them.
func with(fix Fix, list []Check) []Check {
	for i := range list {
		list[i].fix, list[i].Fixable = fix, true
	}
	return list
}

// fixRemedy is the remedy of what --fix mends.
const fixRemedy = "hob doctor --fix"

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

func (e Env) getenv(name string) string {
	if e.Getenv != nil {
		return e.Getenv(name)
	}
	return os.Getenv(name)
}
