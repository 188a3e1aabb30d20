package acp

import (
	"context"
	"errors"
	"strconv"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"hob/autonomy/llm"
	"hob/platform/host/osrun"
)

// Error codes; see https://agentclientprotocol.com/protocol/schema#errorcode.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002
	codeCancelled    = -32800
)

func formatVersion(v sdk.ProtocolVersion) string { return strconv.Itoa(int(v)) }

func (o Options) newError(kind llm.ErrorKind, err error, message, remedy string) *llm.Error {
	return &llm.Error{Kind: kind, Provider: o.Provider, Message: message, Remedy: remedy, Err: err, Whole: true}
}

// missingError returns the error for a missing program. The error includes the installation
// command.
func (o Options) missingError(err error) *llm.Error {
	return o.newError(llm.NotFound, err, "the program "+strconv.Quote(o.Command)+" is not installed, or not in PATH", o.installRemedy())
}

// installRemedy returns how to install the agent.
func (o Options) installRemedy() string {
	if p, ok := findPreset(o.Preset); ok {
		return p.Install
	}
	return "install it, or correct command in [providers." + o.Provider + "]"
}

// requestError converts the error of a failed request. kind is used for a refusal without a known
// code.
func (c *child) requestError(ctx context.Context, err error, kind llm.ErrorKind, what string) *llm.Error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, errSlowStart) {
			return c.o.newError(llm.NotFound, cause, "it did not start within "+c.o.Start.String()+c.lastOutput(), "start it manually to see why: "+c.o.commandLine())
		}
		return c.o.newError(llm.Interrupted, cause, "the call was canceled", "")
	}
	c.mu.Lock()
	broken := c.broken
	c.mu.Unlock()
	if broken != nil {
		return c.o.newError(llm.Garbled, broken, broken.Error(), "install a compatible version; see docs/acp.md")
	}
	if !c.isAlive() {
		<-c.gone // the child's output has been read completely
		end := what + ", and ended"
		if how := osrun.DescribeExit(c.tree.Err()); how != "it ended" {
			end += " (" + how + ")"
		}
		if kind != llm.NotFound {
			kind = llm.Network
		}
		return c.o.newError(kind, c.tree.Err(), end+c.lastOutput(), "try again; if the error persists, start it manually to see why: "+c.o.commandLine())
	}
	re, ok := errors.AsType[*sdk.RequestError](err)
	if !ok {
		return c.o.newError(kind, err, what+": "+singleLine(err.Error(), 200), "")
	}
	if re.Code == codeAuthRequired {
		return c.unauthorizedError(err)
	}
	return c.o.newError(kind, err, what+": "+singleLine(redactLine(refusalReason(re), c.words.secrets), 300), "")
}

// refusalReason returns the agent's message for a refusal.
func refusalReason(re *sdk.RequestError) string {
	out := re.Message
	data, _ := re.Data.(map[string]any)
	for _, key := range []string{"details", "error", "message"} {
		if s, ok := data[key].(string); ok && s != "" && s != out {
			return out + ": " + s
		}
	}
	if s, ok := re.Data.(string); ok && s != "" {
		return out + ": " + s
	}
	return out
}

// lastOutput returns the child's last output, for use in an error.
func (c *child) lastOutput() string {
	if s := c.words.lastLine(); s != "" {
		return "; its last output: " + s
	}
	return ""
}

// unauthorizedError returns the error that asks the user to sign in.
func (c *child) unauthorizedError(err error) *llm.Error {
	remedy := "sign in with its own program first: " + c.o.commandLine()
	if p, ok := findPreset(c.o.Preset); ok {
		remedy = p.Login
	} else if names := c.authMethods(); names != "" {
		remedy += " (it offers: " + names + ")"
	}
	return c.o.newError(llm.Unauthorized, err, "sign-in is required", remedy)
}

// authMethods lists the names of the agent's authentication methods.
func (c *child) authMethods() string {
	var out []string
	for _, m := range c.info.AuthMethods {
		switch {
		case m.Agent != nil:
			out = append(out, m.Agent.Name)
		case m.EnvVar != nil:
			out = append(out, m.EnvVar.Name)
		case m.Terminal != nil:
			out = append(out, m.Terminal.Name)
		}
	}
	return singleLine(strings.Join(out, ", "), 200)
}

// commandLine returns the command as typed in a shell.
func (o Options) commandLine() string {
	return strings.Join(append([]string{o.Command}, o.Args...), " ")
}
