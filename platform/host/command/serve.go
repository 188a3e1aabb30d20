package command

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Helper is the hidden command that serves one job.
const Helper = "command-run"

// helperEnv is set only in the helper process, not when a user starts the hidden command.
const helperEnv = "HOB_COMMAND_RUN"

// Exit statuses of the helper, which equal the exit statuses of a shell.
const (
	statusNotRun   = 126
	statusNotFound = 127
)

// Serve runs one job, which it reads from in, and returns the job's exit status. It first applies
// the limits and rules to its own process; all children inherit them. It adopts orphaned
// descendants and kills every process below it before it returns. It grants no permissions that the
// caller does not have.
func Serve(in io.Reader, out, problems *os.File) int {
	if job := os.Getenv(serviceEnv); job != "" {
		fmt.Fprintln(problems, "hob: the program was not started:", becomeService(job))
		return statusNotRun
	}
	var j helperJob
	r := bufio.NewReader(in)
	line, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &j)
	}
	if err != nil {
		fmt.Fprintln(problems, "hob: no command to run")
		return statusNotRun
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, r)
		cancel() // Hob has ended
	}()
	becomeSubreaper()
	defer killDescendants()
	if err := errors.Join(applyLimits(j.Bounds), confineSelf(j.Lock)); err != nil {
		fmt.Fprintln(problems, "hob: the command was not run:", err)
		return statusNotRun
	}
	x := &executor{job: j, out: out, err: problems}
	done := make(chan int, 1)
	go func() { done <- x.runPlan() }() // the goroutine ends when the plan's processes have ended
	select {
	case status := <-done:
		return status
	case <-ctx.Done():
		killDescendants()
		return 128 + int(syscall.SIGTERM)
	}
}

// executor runs the steps of a plan like a shell.
type executor struct {
	job      helperJob
	out, err *os.File
}

func (x *executor) runPlan() int {
	p := x.job.Plan
	if err := x.checkUnchanged(); err != nil {
		x.printError("%v", err)
		return statusNotRun
	}
	if p.Shell != "" {
		if len(x.job.Shell) < 2 || x.job.Shell[0] == "" {
			x.printError("no shell found")
			return statusNotFound
		}
		line := Line{Dir: p.Dir, Steps: []Step{{Path: x.job.Shell[0], Args: x.job.Shell[1:]}}}
		return x.runPipeline(line)
	}
	status := 0
	for _, line := range p.Lines {
		if line.When == "&&" && status != 0 || line.When == "||" && status == 0 {
			continue
		}
		if len(line.Steps) == 0 { // a cd, which the Analyzer has already applied
			status = 0
			continue
		}
		status = x.runPipeline(line)
		if line.Not {
			status = map[bool]int{true: 1, false: 0}[status == 0]
		}
	}
	return status
}

func (x *executor) printError(format string, args ...any) {
	_, _ = fmt.Fprintf(x.err, "hob: "+format+"\n", args...) // there is no one to report the error to
}

// checkUnchanged checks that nothing has changed since the judgment: the content of files, the
// absence of files, and the names in folders in which patterns were expanded. Files that only the
// administrator can change have no digest and are not checked.
func (x *executor) checkUnchanged() error {
	p := x.job.Plan
	changed := func(path string) error {
		return fmt.Errorf("%s changed after the command was analyzed; nothing was run", filepath.Base(path))
	}
	for path, want := range p.Digests {
		got, err := digestOf(path)
		switch {
		case want == unreadable:
		case want == absent && errors.Is(err, fs.ErrNotExist):
		case want == absent:
			return changed(path)
		case err != nil && isBelow(p.Dir, path):
			return changed(path)
		case err != nil: // the sandbox hides the file, so it cannot run
		case got != want:
			return changed(path)
		}
	}
	for dir, want := range p.Folders {
		if got, err := namesDigest(dir); err != nil && isBelow(p.Dir, dir) || err == nil && got != want {
			return changed(dir)
		}
	}
	return nil
}

// runPipeline starts the steps in parallel and returns the status of the last one.
func (x *executor) runPipeline(line Line) int {
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			_ = f.Close() // the processes have their own copies
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		x.printError("%v", err)
		return statusNotRun
	}
	files = append(files, null)
	statuses := make([]int, len(line.Steps))
	var wait sync.WaitGroup
	in := null
	for i, s := range line.Steps {
		out, next := x.out, null
		if i < len(line.Steps)-1 {
			r, w, err := os.Pipe()
			if err != nil {
				x.printError("%v", err)
				closeAll()
				return statusNotRun
			}
			files = append(files, r, w)
			out, next = w, r
		}
		cmd, opened, err := x.prepareCommand(line.Dir, s, in, out, null)
		files = append(files, opened...)
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			x.printError("%s: %v", s.Args[0], err)
			statuses[i] = statusNotFound
		} else {
			wait.Go(func() { statuses[i] = statusOf(cmd.Wait()) })
		}
		if i < len(line.Steps)-1 {
			_ = out.Close() // the step has its own copy; the next step must get EOF
		}
		in = next
	}
	closeAll()
	wait.Wait()
	return statuses[len(statuses)-1]
}

// prepareCommand builds the command of a step and opens its input files. The caller closes them
// after the start.
func (x *executor) prepareCommand(dir string, s Step, in, out, null *os.File) (*exec.Cmd, []*os.File, error) {
	if s.Path == "" {
		return nil, nil, ErrNotFound
	}
	cmd := &exec.Cmd{Path: s.Path, Args: s.Args, Dir: dir, Env: append(append([]string{}, x.job.Env...), append(s.Env, "PWD="+dir)...)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, x.err
	opened, err := x.openFiles(s, cmd)
	if err != nil {
		return nil, opened, err
	}
	switch s.Out {
	case "null":
		cmd.Stdout = null
	case "err":
		cmd.Stdout = x.err
	}
	switch s.Err {
	case "null":
		cmd.Stderr = null
	case "out":
		cmd.Stderr = out
	}
	return cmd, opened, nil
}

// openFiles opens the inputs of a step: the redirected input and, without a sandbox, all files of
// the step. It follows no links, because the Analyzer has already resolved them.
func (x *executor) openFiles(s Step, cmd *exec.Cmd) (opened []*os.File, err error) {
	add := func(path string, folder bool) (*os.File, error) {
		f, err := openPlain(path, folder)
		if err != nil {
			return nil, fmt.Errorf("%s changed after the command was analyzed: %w", filepath.Base(path), err)
		}
		opened = append(opened, f)
		return f, nil
	}
	if s.In != "" {
		f, err := x.openInput(s.In, add)
		if err != nil {
			return opened, err
		}
		if cmd.Stdin = f; !slices.Contains(opened, f) {
			opened = append(opened, f)
		}
	}
	if !x.job.Hand || s.Hand == nil {
		return opened, nil
	}
	cmd.Args = append([]string{s.Args[0]}, s.Hand.Args...)
	if s.Hand.Input != "" {
		f, err := add(s.Hand.Input, false)
		if err != nil {
			return opened, err
		}
		cmd.Stdin = f
	}
	for _, path := range s.Hand.Files {
		f, err := add(path, false)
		if err != nil {
			return opened, err
		}
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	if s.Hand.Folder == "" {
		return opened, nil
	}
	f, err := add(s.Hand.Folder, true)
	if err != nil {
		return opened, err
	}
	cmd.Dir = "" // the folder of this process, which starts one program at a time
	return opened, f.Chdir()
}

// openInput opens the input of a step. It copies approved code from the file, so that the program
// reads exactly the bytes that were compared with the approval.
func (x *executor) openInput(path string, add func(string, bool) (*os.File, error)) (*os.File, error) {
	if path == os.DevNull {
		return os.Open(path)
	}
	f, err := add(path, false)
	want := x.job.Plan.Digests[path]
	if err != nil || want == "" || want == absent {
		return f, err
	}
	return copyChecked(f, want)
}

// copyChecked copies a file to an unnamed file and compares the copy with a digest.
func copyChecked(f *os.File, want string) (_ *os.File, err error) {
	c, err := os.CreateTemp("", "in-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
		}
	}()
	_ = os.Remove(c.Name()) // if this fails, the removal of the folder deletes the file
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(c, h), io.LimitReader(f, maxHashed)); err != nil {
		return nil, err
	}
	if hex.EncodeToString(h.Sum(nil)) != want {
		return nil, fmt.Errorf("%s changed after the command was analyzed", filepath.Base(f.Name()))
	}
	_, err = c.Seek(0, io.SeekStart)
	return c, err
}
