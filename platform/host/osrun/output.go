package osrun

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Limits of the output that Output keeps, in bytes.
const (
	maxOutput = 4 << 20
	maxErrors = 16 << 10
)

// linger is the time for which Output continues to read the pipes after the program has exited. A
// child process that left the process tree may keep them open forever.
const linger = time.Second

// Output runs a program with in as its input and returns its output. When ctx ends, it kills the
// program with all its descendants and returns ctx's error. The error of a failed program includes
// its stderr.
func Output(ctx context.Context, cmd *exec.Cmd, in []byte) (out []byte, err error) {
	return OutputOf(ctx, cmd, in, func(int) {})
}

// OutputOf runs a program as Output does, and calls started with its pid, which is also the id of
// its process group on Unix.
func OutputOf(ctx context.Context, cmd *exec.Cmd, in []byte, started func(pid int)) (out []byte, err error) {
	var pipes [3][2]io.Closer
	defer func() {
		for _, p := range pipes {
			for _, end := range p {
				if end != nil {
					_ = end.Close() // some pipes are closed twice, which is harmless
				}
			}
		}
	}()
	inR, inW, err := Pipe()
	if err != nil {
		return nil, err
	}
	pipes[0] = [2]io.Closer{inR, inW}
	outR, outW, err := Pipe()
	if err != nil {
		return nil, err
	}
	pipes[1] = [2]io.Closer{outR, outW}
	errR, errW, err := Pipe()
	if err != nil {
		return nil, err
	}
	pipes[2] = [2]io.Closer{errR, errW}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	tree, err := Start(cmd)
	_, _, _ = inR.Close(), outW.Close(), errW.Close() // the child has its own copies
	if err != nil {
		return nil, err
	}
	started(tree.Pid())
	var said []byte
	var work sync.WaitGroup
	work.Go(func() {
		_, _ = inW.Write(in) // if the child process did not read the input, its exit status shows that
		_ = inW.Close()
	})
	work.Go(func() { out = readMost(outR, maxOutput) })
	work.Go(func() { said = readMost(errR, maxErrors) })
	select {
	case <-tree.Done():
	case <-ctx.Done():
		tree.Kill()
		<-tree.Done()
	}
	for _, end := range []*os.File{inW, outR, errR} {
		_ = end.SetDeadline(time.Now().Add(linger)) // on systems without pipe deadlines, processes cannot leave their tree
	}
	work.Wait()
	if ctx.Err() != nil {
		return out, fmt.Errorf("run %s: %w", cmd.Path, ctx.Err())
	}
	if err := tree.Err(); err != nil {
		return out, &Failure{Program: cmd.Path, Said: strings.TrimSpace(string(said)), Err: err}
	}
	return out, nil
}

// readMost reads to the end, but keeps only the beginning.
func readMost(r io.Reader, most int64) []byte {
	out, err := io.ReadAll(io.LimitReader(r, most))
	if err == nil {
		_, _ = io.Copy(io.Discard, r) // continue to read, so that the child process does not block
	}
	return out
}

// Failure is the error of a program that failed.
type Failure struct {
	Program string
	Said    string // text on its stderr
	Err     error
}

func (f *Failure) Error() string {
	msg := "run " + f.Program + ": " + DescribeExit(f.Err)
	if f.Said != "" {
		msg += ": " + f.Said
	}
	return msg
}

// Unwrap returns the error of the process.
func (f *Failure) Unwrap() error { return f.Err }
