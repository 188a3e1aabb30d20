package quartz

import (
	"fmt"
	"sync"

	"github.com/ebitengine/purego"
	"github.com/ebitengine/purego/objc"
)

type rect struct{ X, Y, W, H float64 } // CGRect, four CGFloat

// frameworkLib contains the functions with their prototypes.
type frameworkLib struct {
	// CFIndex CFArrayGetCount(CFArrayRef)
	arrayCount func(uintptr) int
	// const void *CFArrayGetValueAtIndex(CFArrayRef, CFIndex)
	arrayAt func(uintptr, int) uintptr
	// const void *CFDictionaryGetValue(CFDictionaryRef, const void *)
	get func(uintptr, uintptr) uintptr
	// CFStringRef CFStringCreateWithCString(CFAllocatorRef, const char *, CFStringEncoding)
	newString func(uintptr, string, uint32) uintptr
	// CFIndex CFStringGetLength(CFStringRef)
	stringLength func(uintptr) int
	// Boolean CFStringGetCString(CFStringRef, char *, CFIndex, CFStringEncoding)
	stringGet func(uintptr, *byte, int, uint32) bool
	// Boolean CFNumberGetValue(CFNumberRef, CFNumberType, void *)
	numberGet func(uintptr, int, *int64) bool
	// Boolean CFBooleanGetValue(CFBooleanRef)
	boolGet func(uintptr) bool
	// CFTypeID CFGetTypeID(CFTypeRef), CFStringGetTypeID(void), CFArrayGetTypeID(void)
	typeOf     func(uintptr) uint
	stringType func() uint
	arrayType  func() uint
	// void CFRelease(CFTypeRef)
	release func(uintptr)

	// CFArrayRef CGWindowListCopyWindowInfo(CGWindowListOption, CGWindowID)
	windows func(uint32, uint32) uintptr
	// bool CGRectMakeWithDictionaryRepresentation(CFDictionaryRef, CGRect *)
	rect func(uintptr, *rect) bool
	// CFDictionaryRef CGSessionCopyCurrentDictionary(void)
	session func() uintptr
	// bool CGPreflightScreenCaptureAccess(void); nil before macOS 10.15
	mayCapture func() bool

	// Boolean AXIsProcessTrusted(void)
	trusted func() bool
	// AXUIElementRef AXUIElementCreateSystemWide(void), AXUIElementCreateApplication(pid_t)
	systemWide func() uintptr
	ofApp      func(int32) uintptr
	// AXError AXUIElementSetMessagingTimeout(AXUIElementRef, float)
	wait func(uintptr, float32) int32
	// AXError AXUIElementCopyAttributeValue(AXUIElementRef, CFStringRef, CFTypeRef *)
	attribute func(uintptr, uintptr, *uintptr) int32
	// AXError AXUIElementSetAttributeValue(AXUIElementRef, CFStringRef, CFTypeRef)
	setAttribute func(uintptr, uintptr, uintptr) int32
	// AXError AXUIElementPerformAction(AXUIElementRef, CFStringRef)
	perform func(uintptr, uintptr) int32
	// AXError AXUIElementGetPid(AXUIElementRef, pid_t *)
	pidOf func(uintptr, *int32) int32
	// AXError _AXUIElementGetWindow(AXUIElementRef, CGWindowID *), which no header declares; nil if
	// the system does not provide it
	windowOf func(uintptr, *uint32) int32

	// Boolean IsSecureEventInputEnabled(void)
	secureInput func() bool
	// int proc_pidpath(int, void *, uint32_t)
	pidPath func(int32, *byte, uint32) int32
}

const frameworks = "/System/Library/Frameworks/"

// loadFrameworks opens the libraries once. They stay open until the process ends.
var loadFrameworks = sync.OnceValues(func() (l *frameworkLib, err error) {
	defer func() { // purego panics if a symbol is missing
		if r := recover(); r != nil {
			l, err = nil, fmt.Errorf("missing macOS function: %v", r)
		}
	}()
	l = &frameworkLib{}
	for _, f := range []struct {
		file  string
		names map[string]any
	}{
		{frameworks + "CoreFoundation.framework/CoreFoundation", map[string]any{
			"CFArrayGetCount": &l.arrayCount, "CFArrayGetValueAtIndex": &l.arrayAt, "CFDictionaryGetValue": &l.get,
			"CFStringCreateWithCString": &l.newString, "CFStringGetLength": &l.stringLength, "CFStringGetCString": &l.stringGet,
			"CFNumberGetValue": &l.numberGet, "CFBooleanGetValue": &l.boolGet, "CFGetTypeID": &l.typeOf,
			"CFStringGetTypeID": &l.stringType, "CFArrayGetTypeID": &l.arrayType, "CFRelease": &l.release,
		}},
		{frameworks + "CoreGraphics.framework/CoreGraphics", map[string]any{
			"CGWindowListCopyWindowInfo": &l.windows, "CGRectMakeWithDictionaryRepresentation": &l.rect,
			"CGSessionCopyCurrentDictionary": &l.session, "?CGPreflightScreenCaptureAccess": &l.mayCapture,
		}},
		{frameworks + "ApplicationServices.framework/ApplicationServices", map[string]any{
			"AXIsProcessTrusted": &l.trusted, "AXUIElementCreateSystemWide": &l.systemWide, "AXUIElementCreateApplication": &l.ofApp,
			"AXUIElementSetMessagingTimeout": &l.wait, "AXUIElementCopyAttributeValue": &l.attribute,
			"AXUIElementSetAttributeValue": &l.setAttribute, "AXUIElementPerformAction": &l.perform, "AXUIElementGetPid": &l.pidOf,
			"?_AXUIElementGetWindow": &l.windowOf,
		}},
		{frameworks + "Carbon.framework/Carbon", map[string]any{"IsSecureEventInputEnabled": &l.secureInput}},
		{"/usr/lib/libproc.dylib", map[string]any{"proc_pidpath": &l.pidPath}},
		{frameworks + "Foundation.framework/Foundation", nil}, // for NSNumber
	} {
		h, err := purego.Dlopen(f.file, purego.RTLD_LAZY|purego.RTLD_GLOBAL)
		if err != nil {
			return nil, err
		}
		for name, fn := range f.names {
			if name[0] != '?' {
				purego.RegisterLibFunc(fn, h, name)
			} else if at, err := purego.Dlsym(h, name[1:]); err == nil {
				purego.RegisterFunc(fn, at)
			}
		}
	}
	return l, nil
})

const utf8 = 0x08000100 // kCFStringEncodingUTF8

// withString calls does with a CoreFoundation string and then releases the string.
func (l *frameworkLib) withString(name string, does func(ref uintptr)) {
	ref := l.newString(0, name, utf8)
	if ref == 0 {
		return
	}
	defer l.release(ref)
	does(ref)
}

const maxString = 2000 // maximum length of a title, in characters

func (l *frameworkLib) stringValue(ref uintptr) string {
	if ref == 0 || l.typeOf(ref) != l.stringType() {
		return ""
	}
	b := make([]byte, 4*min(l.stringLength(ref), maxString)+1)
	if !l.stringGet(ref, &b[0], len(b), utf8) {
		return ""
	}
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return ""
}

// dictValue returns the value of a key in a dictionary. The caller must not release the value.
func (l *frameworkLib) dictValue(dict uintptr, name string) (v uintptr) {
	l.withString(name, func(ref uintptr) { v = l.get(dict, ref) })
	return v
}

func (l *frameworkLib) numberValue(ref uintptr) (n int64) {
	if ref == 0 || !l.numberGet(ref, 4, &n) { // kCFNumberSInt64Type
		return 0
	}
	return n
}

// copyAttribute returns an attribute of an element, or 0 if the element does not have it. The
// caller must release the attribute.
func (l *frameworkLib) copyAttribute(element uintptr, name string) (v uintptr) {
	l.withString(name, func(ref uintptr) {
		if l.attribute(element, ref, &v) != 0 {
			v = 0
		}
	})
	return v
}

// booleanTrue returns kCFBooleanTrue, which is the NSNumber for true.
func booleanTrue() uintptr {
	return uintptr(objc.ID(objc.GetClass("NSNumber")).Send(objc.RegisterName("numberWithBool:"), true))
}
