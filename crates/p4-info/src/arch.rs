//! What the architectures call the things that the control plane sees.

/// Names of extern types, of their constructors' parameters and of table properties.
pub(crate) struct Arch {
    /// As in `pkg_info`
    pub name: &'static str,
    pub counter: &'static str,
    pub direct_counter: &'static str,
    pub meter: &'static str,
    pub direct_meter: &'static str,
    pub action_profile: &'static str,
    pub action_selector: &'static str,
    pub register: &'static str,
    /// An extern type whose instances send digests
    pub digest: Option<&'static str>,
    /// A function that sends digests
    pub digest_function: Option<&'static str>,
    pub counter_size: &'static str,
    pub meter_size: &'static str,
    pub counters_property: &'static str,
    pub meters_property: &'static str,
    pub implementation_property: &'static str,
    pub timeout_property: &'static str,
    /// Which type argument is the type of indices, where there is one
    pub counter_index: Option<usize>,
    pub meter_index: Option<usize>,
    pub register_index: Option<usize>,
    /// Units of counters and meters: packets, bytes, both
    pub units: [&'static str; 3],
    /// Extern functions make room for type information, used or not.
    pub functions_touch_types: bool,
    /// Entries that tables have room for where a program does not say
    pub default_size: i64,
    /// Instances that P4Runtime has no message for are listed, too.
    pub lists_externs: bool,
    /// Properties that name such instances
    pub direct_properties: &'static [&'static str],
}

static V1MODEL: Arch = Arch {
    name: "v1model",
    counter: "counter",
    direct_counter: "direct_counter",
    meter: "meter",
    direct_meter: "direct_meter",
    action_profile: "action_profile",
    action_selector: "action_selector",
    register: "register",
    digest: None,
    digest_function: Some("digest"),
    counter_size: "size",
    meter_size: "size",
    counters_property: "counters",
    meters_property: "meters",
    implementation_property: "implementation",
    timeout_property: "support_timeout",
    counter_index: None,
    meter_index: None,
    register_index: None,
    units: ["packets", "bytes", "packets_and_bytes"],
    functions_touch_types: true,
    default_size: 1024,
    lists_externs: false,
    direct_properties: &[],
};

const PORTABLE: Arch = Arch {
    name: "psa",
    counter: "Counter",
    direct_counter: "DirectCounter",
    meter: "Meter",
    direct_meter: "DirectMeter",
    action_profile: "ActionProfile",
    action_selector: "ActionSelector",
    register: "Register",
    digest: Some("Digest"),
    digest_function: None,
    counter_size: "n_counters",
    meter_size: "n_meters",
    counters_property: "psa_direct_counter",
    meters_property: "psa_direct_meter",
    implementation_property: "psa_implementation",
    timeout_property: "psa_idle_timeout",
    counter_index: Some(1),
    meter_index: Some(0),
    register_index: Some(1),
    units: ["PACKETS", "BYTES", "PACKETS_AND_BYTES"],
    functions_touch_types: false,
    default_size: 1024,
    lists_externs: false,
    direct_properties: &[],
};

static PSA: Arch = PORTABLE;

static PNA: Arch = Arch {
    name: "pna",
    counters_property: "pna_direct_counter",
    meters_property: "pna_direct_meter",
    implementation_property: "pna_implementation",
    timeout_property: "pna_idle_timeout",
    ..PORTABLE
};

static TNA: Arch = Arch {
    name: "tna",
    counter_size: "size",
    meter_size: "size",
    counters_property: "counters",
    meters_property: "meters",
    implementation_property: "implementation",
    timeout_property: "idle_timeout",
    units: ["PACKETS", "BYTES", "PACKETS_AND_BYTES"],
    default_size: 512,
    lists_externs: true,
    direct_properties: &["registers", "filters"],
    ..PORTABLE
};

/// The architecture of a package; v1model for packages of the program's own, as in p4c.
pub(crate) fn of_package(package: &str) -> &'static Arch {
    match package {
        "PSA_Switch" => &PSA,
        "PNA_NIC" => &PNA,
        "Switch" => &TNA,
        _ => &V1MODEL,
    }
}
