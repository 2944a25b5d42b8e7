package symbol

// The DWARF numbers that this package reads, by their names in the standard.
const (
	tagArrayType          = 0x01
	tagClassType          = 0x02
	tagEnumerationType    = 0x04
	tagFormalParameter    = 0x05
	tagMember             = 0x0d
	tagPointerType        = 0x0f
	tagReferenceType      = 0x10
	tagCompileUnit        = 0x11
	tagStructureType      = 0x13
	tagSubroutineType     = 0x15
	tagTypedef            = 0x16
	tagUnionType          = 0x17
	tagUnspecifiedParams  = 0x18
	tagVariant            = 0x19
	tagInheritance        = 0x1c
	tagModule             = 0x1e
	tagPtrToMemberType    = 0x1f
	tagSubrangeType       = 0x21
	tagBaseType           = 0x24
	tagConstType          = 0x26
	tagEnumerator         = 0x28
	tagPackedType         = 0x2d
	tagSubprogram         = 0x2e
	tagVariantPart        = 0x33
	tagVariable           = 0x34
	tagVolatileType       = 0x35
	tagRestrictType       = 0x37
	tagInterfaceType      = 0x38
	tagNamespace          = 0x39
	tagUnspecifiedType    = 0x3b
	tagPartialUnit        = 0x3c
	tagSharedType         = 0x40
	tagTypeUnit           = 0x41
	tagRvalueReferenceTyp = 0x42
	tagTemplateAlias      = 0x43
	tagAtomicType         = 0x47
	tagImmutableType      = 0x4b
	tagGNUParameterPack   = 0x4107
	tagCatchBlock         = 0x25
	tagTryBlock           = 0x32
	tagCallSite           = 0x48
	tagGNUCallSite        = 0x4109

	atSibling           = 0x01
	atLocation          = 0x02
	atName              = 0x03
	atByteSize          = 0x0b
	atBitOffset         = 0x0c
	atBitSize           = 0x0d
	atStmtList          = 0x10
	atLowPC             = 0x11
	atHighPC            = 0x12
	atLanguage          = 0x13
	atDiscr             = 0x15
	atDiscrValue        = 0x16
	atCompDir           = 0x1b
	atConstValue        = 0x1c
	atInline            = 0x20
	atProducer          = 0x25
	atPrototyped        = 0x27
	atUpperBound        = 0x2f
	atAbstractOrigin    = 0x31
	atArtificial        = 0x34
	atCallingConvention = 0x36
	atCount             = 0x37
	atMemberLocation    = 0x38
	atDeclFile          = 0x3a
	atDeclLine          = 0x3b
	atDeclaration       = 0x3c
	atDiscrList         = 0x3d
	atEncoding          = 0x3e
	atExternal          = 0x3f
	atFrameBase         = 0x40
	atSpecification     = 0x47
	atType              = 0x49
	atVariableParameter = 0x4b
	atGoClosureOffset   = 0x2907
	atVirtuality        = 0x4c
	atEntryPC           = 0x52
	atRanges            = 0x55
	atSignature         = 0x69
	atDataBitOffset     = 0x6b
	atEnumClass         = 0x6d
	atLinkageName       = 0x6e
	atStrOffsetsBase    = 0x72
	atAddrBase          = 0x73
	atRnglistsBase      = 0x74
	atDwoName           = 0x76
	atNoreturn          = 0x87
	atAlignment         = 0x88
	atLoclistsBase      = 0x8c
	atMIPSLinkageName   = 0x2007
	atGNUVector         = 0x2107
	atGNUDwoName        = 0x2130
	atGNUDwoID          = 0x2131
	atGNURangesBase     = 0x2132
	atGNUAddrBase       = 0x2133
	atCallFile          = 0x58
	atCallLine          = 0x59
	atCallReturnPC      = 0x7d
	atCallParameter     = 0x80
	atCallValue         = 0x7e
	atGNUCallSiteValue  = 0x2111

	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSdata         = 0x0d
	formStrp          = 0x0e
	formUdata         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUdata      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprloc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLoclistx      = 0x22
	formRnglistx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21

	utCompile      = 1
	utType         = 2
	utPartial      = 3
	utSkeleton     = 4
	utSplitCompile = 5
	utSplitType    = 6
)

// languageOf maps a DW_LANG number.
func languageOf(n uint64) Language {
	switch n {
	case 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e: // C89, C, C99, C11, C17, C23
		return LangC
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a: // C++98, 11, 14, 17/20 and the later numbers
		return LangCPP
	case 0x1c:
		return LangRust
	case 0x16:
		return LangGo
	case 0x31, 0x8001: // Assembly, MIPS_Assembler
		return LangAsm
	case 0:
		return LangUnknown
	}
	return LangOther
}
