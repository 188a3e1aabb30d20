package wine

import "encoding/binary"

// buildForwarder returns a 64-bit DLL that exports one function and forwards it to a function of another
// DLL. The file consists of headers and one section with the export table.
func buildForwarder(dll, function, to string) []byte {
	const (
		page, block  = 0x1000, 0x200
		pe, optional = 0x40, 240
		functions    = page + 0x28 // arrays with one element each, after the table
		names        = page + 0x2c
		ordinals     = page + 0x30
		text         = page + 0x40
	)
	le := binary.LittleEndian
	b := make([]byte, 2*block)
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], pe)
	copy(b[pe:], "PE\x00\x00")
	file := b[pe+4:]
	le.PutUint16(file[0:], 0x8664) // amd64
	le.PutUint16(file[2:], 1)      // one section
	le.PutUint16(file[16:], optional)
	le.PutUint16(file[18:], 0x2022) // flags: DLL, executable, large addresses
	opt := file[20:]
	le.PutUint16(opt[0:], 0x20b) // PE32+
	le.PutUint32(opt[8:], block)
	le.PutUint64(opt[24:], 0x180000000) // preferred base address
	le.PutUint32(opt[32:], page)
	le.PutUint32(opt[36:], block)
	le.PutUint16(opt[40:], 6)
	le.PutUint16(opt[48:], 6)
	le.PutUint32(opt[56:], 2*page)
	le.PutUint32(opt[60:], block)
	le.PutUint16(opt[68:], 3)     // for the console
	le.PutUint16(opt[70:], 0x100) // flag: relocatable, because the file contains no absolute addresses
	for at, size := range map[int]uint64{72: 0x100000, 80: page, 88: 0x100000, 96: page} {
		le.PutUint64(opt[at:], size) // sizes of stack and heap
	}
	le.PutUint32(opt[108:], 16)
	le.PutUint32(opt[112:], page) // export table; an entry that points into the table is a forward
	le.PutUint32(opt[116:], block)
	section := opt[optional:]
	copy(section, ".rdata")
	le.PutUint32(section[8:], block)
	le.PutUint32(section[12:], page)
	le.PutUint32(section[16:], block)
	le.PutUint32(section[20:], block)
	le.PutUint32(section[36:], 0x40000040) // flags: initialized data, readable
	data := b[block:]
	at := uint32(text)
	put := func(s string) uint32 {
		here := at
		copy(data[at-page:], s+"\x00")
		at += uint32(len(s)) + 1
		return here
	}
	le.PutUint32(data[12:], put(dll))
	le.PutUint32(data[16:], 1) // the first ordinal
	le.PutUint32(data[20:], 1)
	le.PutUint32(data[24:], 1)
	le.PutUint32(data[28:], functions)
	le.PutUint32(data[32:], names)
	le.PutUint32(data[36:], ordinals)
	le.PutUint32(data[names-page:], put(function))
	le.PutUint32(data[functions-page:], put(to))
	return b
}
