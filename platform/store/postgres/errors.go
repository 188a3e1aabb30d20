package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// Errors that callers handle. Each wraps what the server or the network reported.
var (
	// ErrAway means that the server cannot be reached or does not answer. It may come back.
	ErrAway = errors.New("the database cannot be reached")
	// ErrRefused means that the server refuses these settings until they are changed.
	ErrRefused = errors.New("the database refuses the connection")
	// ErrVersion means that the server is too old.
	ErrVersion = errors.New("this PostgreSQL is too old")
	// ErrFull means that the disk of the server is full.
	ErrFull = errors.New("the disk of the database server is full")
	// ErrTooLong means that a text is too long for an index of PostgreSQL.
	ErrTooLong = errors.New("a text that identifies a row is longer than 2,600 bytes, which PostgreSQL cannot store")
	// ErrRights means that the user may not do what Hob needs.
	ErrRights = errors.New("the user of the database lacks rights")
)

// serverAway lists the codes of a server that starts, stops or has no room for a connection
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
var serverAway = []string{"57P01", "57P02", "57P03", "57P05", "25P03", "53300", "57014", "55P03"}

// classifyConnect returns the error of a failed attempt to connect.
func classifyConnect(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case pe.Code == "28P01", pe.Code == "28000" && strings.Contains(pe.Message, "password"):
			return fmt.Errorf("%w: wrong user or password (%s); correct the user and the password in [store] url", ErrRefused, pe.Message)
		case strings.HasPrefix(pe.Code, "28"):
			return fmt.Errorf("%w: %s; allow this user, address and kind of connection in pg_hba.conf, or correct [store] url", ErrRefused, pe.Message)
		case pe.Code == "3D000":
			return fmt.Errorf("%w: %s; create the database or correct its name in [store] url", ErrRefused, pe.Message)
		case pe.Code == "42501":
			return fmt.Errorf("%w: %s; GRANT CONNECT on the database to the user", ErrRights, pe.Message)
		}
		return fmt.Errorf("%w: %s (%s)", ErrAway, pe.Message, pe.Code)
	}
	if isTLSError(err) {
		return fmt.Errorf("%w: TLS failed: %w; enable TLS on the server, correct its certificate, or choose another sslmode in [store] url", ErrRefused, lastError(err))
	}
	return fmt.Errorf("%w: %w; start the database server, or correct the host and the port in [store] url", ErrAway, lastError(err))
}

func isTLSError(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "refused TLS") || strings.Contains(text, "tls: ")
}

// lastError returns the innermost error, because the texts around it repeat the address and the user.
func lastError(err error) error {
	for {
		switch x := err.(type) { //nolint:errorlint // walks through all wrapped errors
		case interface{ Unwrap() error }:
			if inner := x.Unwrap(); inner != nil {
				err = inner
				continue
			}
		case interface{ Unwrap() []error }:
			if all := x.Unwrap(); len(all) > 0 {
				err = all[0]
				continue
			}
		}
		return err
	}
}

// classifyError returns the error of a statement. If the connection is lost, the connection becomes
// unusable; a connection that only reads is replaced by database/sql, which then repeats the query.
func (c *Conn) classifyError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	pe, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && pe.Code == "53100":
		return fmt.Errorf("%w (%s); free space on it", ErrFull, pe.Message)
	case ok && pe.Code == "54000": // the entry of an index must fit on a third of a page
		return fmt.Errorf("%w (%s); use a shorter name, key or path", ErrTooLong, pe.Message)
	case ok && pe.Code == "42501":
		return fmt.Errorf("%w: %s; make the user the owner of the database or of its schema", ErrRights, pe.Message)
	case ok && !c.pg.IsClosed() && !isAwayCode(pe.Code):
		return err
	}
	if ok && !c.pg.IsClosed() { // the statement took too long, but the connection works
		c.outage = fmt.Errorf("%w: %s", ErrAway, pe.Message)
		return c.outage
	}
	c.dead = true
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.readOnly && !pgconn.Timeout(err) {
		return driver.ErrBadConn
	}
	c.outage = fmt.Errorf("%w: connection lost: %w", ErrAway, lastError(err))
	return c.outage
}

func isAwayCode(code string) bool {
	for _, c := range serverAway {
		if c == code {
			return true
		}
	}
	return strings.HasPrefix(code, "08")
}

// statementError is an error about the text of a statement.
type statementError struct {
	err   error
	query string
}

// Error implements error. The statement is of use only if it cannot be run at all.
func (e *statementError) Error() string { return e.err.Error() + " in " + e.query }

// Unwrap returns the error of the server.
func (e *statementError) Unwrap() error { return e.err }

// describeStatement adds the statement to an error about its text.
func describeStatement(err error, query string) error {
	if pe, ok := errors.AsType[*pgconn.PgError](err); ok && (strings.HasPrefix(pe.Code, "42") || strings.HasPrefix(pe.Code, "22")) && pe.Code != "42501" {
		return &statementError{err, query}
	}
	return err
}
