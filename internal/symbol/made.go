package symbol

// MadeBase is a base type that no debug information describes.
func MadeBase(name string, encoding Encoding, size int64) *Type {
	return &Type{Kind: KindBase, Name: name, Encoding: encoding, Size: size}
}

// MadePointer is a pointer to a type; nil is void.
func MadePointer(to *Type) *Type {
	t := &Type{Kind: KindPointer, Size: 8, elem: to}
	t.elemOnce.Do(func() {})
	return t
}

// MadeReference is a pointer that is shown as what it leads to.
func MadeReference(to *Type) *Type {
	t := &Type{Kind: KindReference, Size: 8, elem: to}
	t.elemOnce.Do(func() {})
	return t
}

// MadeArray is an array of n elements of a type.
func MadeArray(elem *Type, n int64) *Type {
	t := &Type{Kind: KindArray, Count: n, Size: arraySize(n, elem), elem: elem}
	t.elemOnce.Do(func() {})
	return t
}

// MadeStruct is a struct of members that lie at their offsets.
func MadeStruct(name string, fields []Field, size int64) *Type {
	t := &Type{Kind: KindStruct, Tag: "struct", Name: name, Size: size, body: typeBody{fields: fields}}
	t.bodyOnce.Do(func() {})
	return t
}
