package osrun

// assistive is the bundle id of System Events. If System Events refuses a request, the
// Accessibility permission is missing.
const assistive = "com.apple.systemevents"

// Error numbers of Apple events (MacErrors.h, AppleScript Language Guide,
// "Error Numbers and Error Messages"). Error texts are localized, so only numbers are compared.
const (
	aeNotPermitted   = -1743
	aeNotAsked       = -1744
	aeTimeout        = -1712
	aeNoProcess      = -600
	aeConnection     = -609
	aeNoObject       = -1728
	aeBadIndex       = -1719
	aeNotHandled     = -1708
	aeHandlerFailed  = -10000
	aeCoercion       = -1700
	aePrivilege      = -10004
	aeReadOnly       = -10003
	aeCancelled      = -128
	aeAssistive      = -25211
	aeKeystrokes     = 1002
	aeScript         = -2700
	asSyntax         = -2741
	asSyntaxExpected = -2740
	// notRunning is the error number that Hob's AppleScripts use if the app is not running.
	notRunning = 9600
)

// explainAppleError fills in kind, cause and remedy from the error number of macOS. id is the app's
// bundle id.
func (e *Error) explainAppleError(id string) *Error {
	switch e.Number {
	case aeNotPermitted:
		e.Cause = "macOS does not allow Hob to control the app"
		return e.Allow("automation")
	case aeNotAsked:
		e.Cause = "macOS has not asked you yet whether Hob may control the app"
		return e.Allow("automation")
	case aeAssistive, aeKeystrokes:
		e.Cause = "macOS does not allow Hob to use Accessibility"
		return e.Allow("accessibility")
	case aeTimeout:
		e.Kind, e.Cause, e.Remedy = Timeout, "app did not answer", "check the screen for a macOS dialog"
	case aeNoProcess, aeConnection, notRunning:
		e.Kind, e.Cause, e.Remedy = NotRunning, "app is not running", "open it first"
	case aeNoObject, aeBadIndex:
		if id == assistive && e.Number == aeBadIndex {
			e.Cause = "macOS does not allow Hob to use Accessibility, or the window is closed"
			return e.Allow("accessibility")
		}
		e.Kind, e.Cause = NotFound, "requested item not found"
	case aeNotHandled, aeHandlerFailed:
		e.Kind, e.Cause = Unsupported, "app does not support this in its current state or version"
	case aePrivilege, aeReadOnly:
		e.Kind, e.Cause = Unsupported, "app does not allow this change"
	case aeCancelled:
		e.Kind, e.Cause = Cancelled, "canceled on the screen"
	case asSyntax, asSyntaxExpected, aeCoercion, aeScript:
		e.Kind = Internal
	}
	return e
}

// HRESULTs of COM and MAPI (winerror.h, mapicode.h).
const (
	comNotRunning   = -0x7FFBFE1D // 0x800401E3 MK_E_UNAVAILABLE
	comNoClass      = -0x7FFBFEAC // 0x80040154 REGDB_E_CLASSNOTREG
	comBadClass     = -0x7FFBFE0D // 0x800401F3 CO_E_CLASSSTRING
	comServerFailed = -0x7FF7FFFB // 0x80080005 CO_E_SERVER_EXEC_FAILURE
	comRejected     = -0x7FFEFFFF // 0x80010001 RPC_E_CALL_REJECTED
	comRetryLater   = -0x7FFEFEF6 // 0x8001010A RPC_E_SERVERCALL_RETRYLATER
	rpcUnavailable  = -0x7FF8F946 // 0x800706BA RPC_S_SERVER_UNAVAILABLE
	rpcFailed       = -0x7FF8F942 // 0x800706BE RPC_S_CALL_FAILED
	comDenied       = -0x7FF8FFFB // 0x80070005 E_ACCESSDENIED
	comAborted      = -0x7FFFBFFC // 0x80004004 E_ABORT
	comServerFault  = -0x7FFEFEFB // 0x80010105 RPC_E_SERVERFAULT
	mapiNotFound    = -0x7FFBFEF1 // 0x8004010F MAPI_E_NOT_FOUND
	mapiCancel      = -0x7FFBFEED // 0x80040113 MAPI_E_USER_CANCEL
)

// explainHRESULT fills in kind, cause and remedy from the HRESULT.
func (e *Error) explainHRESULT() *Error {
	switch e.Number {
	case comNoClass, comBadClass:
		e.Kind, e.Cause = NotInstalled, "app is not installed"
	case comNotRunning:
		e.Kind, e.Cause, e.Remedy = NotRunning, "app is not running", "open it first"
	case comServerFailed:
		e.Kind, e.Cause = SetupRequired, "app could not be started for Hob"
		e.Remedy = "set up an account in the app first, and run neither the app nor Hob as administrator"
	case comRejected, comRetryLater:
		e.Kind, e.Cause, e.Remedy = Busy, "app is blocked by an open dialog", "close its open dialogs and try again"
	case rpcUnavailable, rpcFailed:
		e.Kind, e.Cause, e.Remedy = NotRunning, "app ended during the call", "open it again"
	case comDenied, comAborted, comServerFault:
		e.Cause = "the app or a policy denies access to other programs"
		return e.Allow("outlook")
	case mapiNotFound:
		e.Kind, e.Cause = NotFound, "requested item not found"
	case mapiCancel:
		e.Kind, e.Cause = Cancelled, "canceled on the screen"
	}
	return e
}

// explainNamedKind fills in cause and remedy from the kind that a script returned.
func (e *Error) explainNamedKind() *Error {
	switch e.Kind {
	case NotInstalled:
		e.Cause = "app is not installed"
	case NotRunning:
		e.Cause, e.Remedy = "app is not running", "open it first"
	case PolicyBlocked:
		e.Cause = "your administrator has set PowerShell to Constrained Language Mode"
	case Denied:
		perm := e.Said
		e.Cause = "Hob may not control the app"
		return e.Allow(perm)
	case Unsupported, SetupRequired, NotFound, Changed, Timeout, Busy, Cancelled, Invalid:
		e.Cause = e.Said // the script's own message
	default:
		e.Kind = Internal
	}
	return e
}
