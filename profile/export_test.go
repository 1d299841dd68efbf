package profile

// Names that only tests use from outside.
const AnchorUnknown = anchorUnknown
const BaseStandard = baseStandard
const DSV3 = dsv3
const FFNMoE = ffnMoE
const Generic = generic

type Finder = finder

var Suggest = suggest

// UniversalRules are universalRules.
func UniversalRules() []RuleSpec { return universalRules }

// Other is other.
var Other = other

// Names are builtinNames.
var Names = builtinNames

const DSV4 = dsv4

var ErrLimit = errLimit
var ErrNotConfig = errNotConfig
var ErrSyntax = errSyntax
var ErrUnknownProfile = errUnknownProfile
var ParseServerArgs = parseServerArgs
