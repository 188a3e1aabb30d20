// Package failpoint lets the crash test kill the process at a named point. In an ordinary program
// its functions do nothing. Only the linker enables them:
//
//	go build -ldflags "-X hob/platform/failpoint.enabled=yes"
//
// The crash test links such a program, which then reads the environment variables that control it.
// A build tag would compile every package that depends on this package twice.
package failpoint

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// enabled is set only by the linker.
var enabled string

// Enabled reports whether this program can kill itself at a failpoint.
func Enabled() bool { return enabled != "" }

var spec = sync.OnceValue(parse)

type rule struct {
	mu   sync.Mutex
	name string // "" or "*" matches every name
	left int    // number of hits left; the process is killed when it reaches zero
	log  string // file to which the name of each hit is appended, to list the failpoints
}

// parse reads HOB_FAILPOINT="name:N" (die at the Nth hit of name, N >= 1) and
// HOB_FAILPOINT_LOG=file.
func parse() *rule {
	r := &rule{log: os.Getenv("HOB_FAILPOINT_LOG")}
	name, n, ok := strings.Cut(os.Getenv("HOB_FAILPOINT"), ":")
	if ok {
		r.name = name
		r.left, _ = strconv.Atoi(n)
	}
	return r
}

// Address returns the address of a platform: the address that the crash test sets
// (HOB_FAILPOINT_AT_NAME), or else the official one. An ordinary program ignores the environment.
func Address(name, official string) string {
	if !Enabled() {
		return official
	}
	return cmp.Or(os.Getenv("HOB_FAILPOINT_AT_"+strings.ToUpper(name)), official)
}

// Fail returns an error if HOB_FAILPOINT_FAIL, a list of names separated by commas, contains the name. An
// ordinary program returns nil.
func Fail(name string) error {
	if Enabled() && slices.Contains(strings.Split(os.Getenv("HOB_FAILPOINT_FAIL"), ","), name) {
		return fmt.Errorf("failpoint %s", name)
	}
	return nil
}

// Hit marks a point between two durable steps. It kills the process with SIGKILL if HOB_FAILPOINT
// selects this hit. Names are dotted and constant, such as "store.commit.before".
func Hit(name string) {
	if Enabled() {
		hitPoint(name)
	}
}

func hitPoint(name string) {
	r := spec()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.log != "" {
		if f, err := os.OpenFile(r.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			fmt.Fprintln(f, name)
			f.Close()
		}
	}
	if r.left == 0 || (r.name != "*" && r.name != name) {
		return
	}
	if r.left--; r.left == 0 {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Signal(syscall.SIGKILL)
		select {}
	}
}
