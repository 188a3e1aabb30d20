package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hob/cmd/hob/internal/setup"
	"hob/platform/system"
	"hob/platform/vault"
)

func (a *app) setupCmd() *cobra.Command {
	var answers string
	cmd := &cobra.Command{
		Use: "setup", Short: "Choose a model and a few other things", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error { return a.setup(c.Context(), answers) }),
	}
	cmd.Flags().StringVar(&answers, "answers", "", "ask nothing; read the answers from this TOML file")
	return cmd
}

func (a *app) setup(ctx context.Context, answers string) error {
	p, cfg, err := a.home()
	if err != nil {
		return err
	}
	o := setup.Options{Paths: p, Config: cfg, Out: a.out, Secrets: vault.For(p), DNS: net.DefaultResolver}
	o.FindTemplate = func(name string) error {
		_, err := shelf(p).Find(name)
		return err
	}
	template := ""
	run := func() (err error) {
		template, err = setup.Answers(ctx, o, answers)
		return err
	}
	if answers == "" {
		fd, tty := terminal(a.in)
		if !tty {
			return usage("there is no terminal to ask on; give the answers with --answers FILE")
		}
		run = func() error { return setup.Run(ctx, o, &dialog{in: bufio.NewReader(a.in), out: a.out, fd: fd}) }
	}
	err = a.editConfig(ctx, p, "the set-up", run)
	if err != nil {
		return err
	}
	if template != "" {
		return a.useTemplate(ctx, template, consent{yes: true})
	}
	if h, held, err := system.Probe(p.LockFile()); err == nil && held && h.Role == system.RoleDaemon {
		fmt.Fprintln(a.out, "Hob reads it at its next start: hob stop, then hob start")
	}
	return nil
}

// dialog asks on the terminal.
type dialog struct {
	in  *bufio.Reader
	out io.Writer
	fd  int
}

// Ask implements setup.Asker.
func (d *dialog) Ask(question, def string) (string, error) {
	if def != "" {
		question += " [" + def + "]"
	}
	fmt.Fprint(d.out, question+" ")
	line, err := d.in.ReadString('\n')
	if errors.Is(err, io.EOF) && line == "" {
		return "", errors.New("the set-up was left; nothing was changed")
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	if line = strings.TrimSpace(line); line != "" {
		return line, nil
	}
	return def, nil
}

// Secret implements setup.Asker.
func (d *dialog) Secret(question string) (string, error) {
	fmt.Fprint(d.out, question+": ")
	b, err := term.ReadPassword(d.fd)
	fmt.Fprintln(d.out)
	if err != nil {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// Choose implements setup.Asker.
func (d *dialog) Choose(question string, options []string) (int, error) {
	fmt.Fprintln(d.out, question)
	for i, o := range options {
		fmt.Fprintf(d.out, "  %d  %s\n", i+1, o)
	}
	for {
		s, err := d.Ask("Your choice", "1")
		if err != nil {
			return 0, err
		}
		if n, err := strconv.Atoi(s); err == nil && n >= 1 && n <= len(options) {
			return n - 1, nil
		}
		fmt.Fprintf(d.out, "Please type a number from 1 to %d.\n", len(options))
	}
}
