package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"
)

func (a *cli) openCmd() *cobra.Command {
	var only bool
	cmd := &cobra.Command{
		Use: "open", Short: "Open Hob's page in the browser", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			_, tty := terminalFD(a.out)
			if tty {
				if started, err := a.startInBackground(c.Context()); err != nil {
					return err
				} else if started {
					fmt.Fprintln(a.err, "Hob was not running; it runs now. Stop it with: hob stop")
				}
			}
			cl, err := a.connectDaemon(c.Context())
			if err != nil {
				return err
			}
			if !only && tty {
				link, err := cl.LoginLink(c.Context(), true)
				if err != nil {
					return err
				}
				if err := openBrowser(c.Context(), link.URL); err == nil {
					fmt.Fprintln(a.out, "Opened the page in your browser.")
					return nil
				}
			}
			link, err := cl.LoginLink(c.Context(), false)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.out, link.URL)
			if tty {
				fmt.Fprintln(a.err, "The link works once, for two minutes.")
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&only, "print", false, "print the link instead of opening it")
	return cmd
}

// openBrowser opens a link in the system's browser.
func openBrowser(ctx context.Context, link string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	name, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		name = "/usr/bin/open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	}
	return exec.CommandContext(ctx, name, args...).Run()
}

func (a *cli) tokenCmd() *cobra.Command {
	rotate := &cobra.Command{
		Use: "rotate", Short: "Replace the token and disconnect its current users", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return a.withClient(c.Context(), func(cl *client) error {
				if _, err := cl.RotateToken(c.Context()); err != nil {
					return err
				}
				fmt.Fprintln(a.out, "Replaced the token. Open the page again with: hob open")
				return nil
			})
		}),
	}
	return a.commandGroup(&cobra.Command{Use: "token", Short: "Manage the API token"}, rotate)
}
