package web

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"hob/autonomy/config"
	"hob/platform/host/system"
)

// OpenOptions holds the options of Open. All except InProcess are required.
type OpenOptions struct {
	// Options are the server options without Listen, Token, TLS, Password and Hosts, which Open
	// sets.
	Options
	Config    config.Web
	TokenFile string
	// InProcess means that the server opens no socket.
	InProcess bool
	// Secret resolves the password reference.
	Secret func(ctx context.Context, ref string) (string, error)
	// Redact adds strings that must not appear in logs.
	Redact func(secrets ...string)
}

// Open creates the configured server, and the token if there is none.
func Open(ctx context.Context, o OpenOptions) (*Server, error) {
	token, err := system.EnsureToken(o.TokenFile)
	if err != nil {
		return nil, err
	}
	o.Redact(token.Reveal())
	c := o.Config
	o.Token, o.Listen, o.Hosts = token.Reveal(), c.Listen, c.Hosts
	if o.InProcess {
		o.Listen = "127.0.0.1:0" // a placeholder, because the server opens no socket
	}
	pin := ""
	if c.TLSCert != "" && !o.InProcess {
		if o.TLS, pin, err = loadCertificate(c); err != nil {
			return nil, err
		}
	}
	if c.Password != "" && !o.InProcess {
		if o.Password, err = o.Secret(ctx, c.Password); err != nil {
			return nil, fmt.Errorf("[web] password: %w", err)
		}
		o.Redact(o.Password)
	}
	s, err := New(o.Options) //nolint:contextcheck // a handler uses the context of its request
	if err != nil {
		return nil, err
	}
	s.pin, s.tokenFile, s.redact = pin, o.TokenFile, o.Redact
	s.logouts.file = logoutsFile(o.TokenFile)
	return s, nil
}

// loadCertificate returns the certificate and its pin.
func loadCertificate(c config.Web) (*tls.Config, string, error) {
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, "", fmt.Errorf("[web] tls_cert and tls_key: %w; both must be PEM files of the same key pair", err)
	}
	sum := sha256.Sum256(cert.Certificate[0])
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, hex.EncodeToString(sum[:]), nil
}

// Pin returns the hexadecimal SHA-256 of the API's certificate, or "" without TLS.
func (s *Server) Pin() string { return s.pin }

// ReplaceToken replaces the token. It writes the new token to disk first, so that a client whose
// token is rejected finds the new one there. It works only for servers created by Open.
func (s *Server) ReplaceToken() error {
	token, err := system.NewToken(s.tokenFile)
	if err != nil {
		return err
	}
	s.redact(token.Reveal())
	return s.Rotate(token.Reveal())
}

// PeerFinder returns a function for Options.Peer. Programs started by Hob run under the user's
// account and could read the token, but must not act as the user. agents returns the process ids of
// external agents, which may have left Hob's process tree.
func PeerFinder(agents func() []int, log *slog.Logger) func(client, server string, thorough bool) Peer {
	return func(client, server string, thorough bool) Peer {
		c, err := system.ClientOf(client, server, system.Tree{PID: os.Getpid(), Roots: agents()}, thorough)
		if err != nil {
			log.Warn("cannot identify the peer of a connection", "err", err)
			if !errors.Is(err, errors.ErrUnsupported) && !thorough {
				return PeerHob // the process has exited or is hidden
			}
			return PeerUnknown
		}
		switch c {
		case system.ClientOwner, system.ClientRemote:
			return PeerOwner
		case system.ClientHob:
			return PeerHob
		case system.ClientStranger:
			return PeerOther
		}
		return PeerUnknown
	}
}
