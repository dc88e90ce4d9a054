//! The tables of hashes: which fields they are of, their algorithm, and what they come to.

use super::fields::{self, field, key as number, list, mandatory, optional};
use super::tables::leaves;
use super::{ActionSpec, Annotation, Data, Field, FieldType, KeyField, Scope};
use p4_info::model::{HashField, P4Info};

/// The note of a field that is a constant
const CONSTANT: &str = "bfrt_p4_constant";

/// Width, polynomial, whether bits are reflected, initial value, what is added at the end
pub type Parameters = (u32, u64, bool, u64, u64);

const ONES: u64 = u64::MAX;

/// CRCs that clients call by names; the parameters are those of bf-utils' dynamic hashes in
/// open-p4studio, most of them also in the catalogue of CRC RevEng.
pub const CRCS: [(&str, Parameters); 41] = [
    ("CRC_8", (8, 0x07, false, 0, 0)),
    ("CRC_8_DARC", (8, 0x39, true, 0, 0)),
    ("CRC_8_I_CODE", (8, 0x1d, false, 0xfd, 0)),
    ("CRC_8_ITU", (8, 0x07, false, 0x55, 0x55)),
    ("CRC_8_MAXIM", (8, 0x31, true, 0, 0)),
    ("CRC_8_ROHC", (8, 0x07, true, 0xff, 0)),
    ("CRC_8_WCDMA", (8, 0x9b, true, 0, 0)),
    ("CRC_16", (16, 0x8005, true, 0, 0)),
    ("CRC_16_BYPASS", (16, 0x8005, false, 0, 0)),
    ("CRC_16_DDS_110", (16, 0x8005, false, 0x800d, 0)),
    ("CRC_16_DECT", (16, 0x0589, false, 1, 1)),
    ("CRC_16_DECT_R", (16, 0x0589, false, 0, 1)),
    ("CRC_16_DECT_X", (16, 0x0589, false, 0, 0)),
    ("CRC_16_DNP", (16, 0x3d65, true, 0, 0xffff)),
    ("CRC_16_EN_13757", (16, 0x3d65, false, 0, 0xffff)),
    ("CRC_16_GENIBUS", (16, 0x1021, false, 0xffff, 0xffff)),
    ("CRC_16_MAXIM", (16, 0x8005, true, 0, 0xffff)),
    ("CRC_16_MCRF4XX", (16, 0x1021, true, 0xffff, 0)),
    ("CRC_16_RIELLO", (16, 0x1021, true, 0xb2aa, 0)),
    ("CRC_16_T10_DIF", (16, 0x8bb7, false, 0, 0)),
    ("CRC_16_TELEDISK", (16, 0xa097, false, 0, 0)),
    ("CRC_16_USB", (16, 0x8005, true, 0xffff, 0xffff)),
    ("X_25", (16, 0x1021, true, 0xffff, 0xffff)),
    ("XMODEM", (16, 0x1021, false, 0, 0)),
    ("MODBUS", (16, 0x8005, true, 0xffff, 0)),
    ("KERMIT", (16, 0x1021, true, 0, 0)),
    ("CRC_CCITT_FALSE", (16, 0x1021, false, 0xffff, 0)),
    ("CRC_AUG_CCITT", (16, 0x1021, false, 0x1d0f, 0)),
    ("CRC_32", (32, 0x04c1_1db7, true, 0xffff_ffff, 0xffff_ffff)),
    (
        "CRC_32_BZIP2",
        (32, 0x04c1_1db7, false, 0xffff_ffff, 0xffff_ffff),
    ),
    ("CRC_32C", (32, 0x1edc_6f41, true, 0xffff_ffff, 0xffff_ffff)),
    ("CRC_32D", (32, 0xa833_982b, true, 0xffff_ffff, 0xffff_ffff)),
    ("CRC_32_MPEG", (32, 0x04c1_1db7, false, 0xffff_ffff, 0)),
    ("POSIX", (32, 0x04c1_1db7, false, 0, 0xffff_ffff)),
    ("CRC_32Q", (32, 0x8141_41ab, false, 0, 0)),
    ("JAMCRC", (32, 0x04c1_1db7, true, 0xffff_ffff, 0)),
    ("XFER", (32, 0x0000_00af, false, 0, 0)),
    ("CRC_64", (64, 0x42f0_e1eb_a9ea_3693, false, 0, 0)),
    ("CRC_64_GO_ISO", (64, 0x1b, true, ONES, ONES)),
    ("CRC_64_WE", (64, 0x42f0_e1eb_a9ea_3693, false, ONES, ONES)),
    ("CRC_64_JONES", (64, 0xad93_d235_94c9_35a9, true, ONES, 0)),
];

pub const IDENTITY: &str = "IDENTITY";
pub const XOR: &str = "XOR";

/// Those and the others, in bf-p4c's order
const NAMES: [&str; 3 + CRCS.len()] = {
    let mut names = [IDENTITY, "RANDOM", XOR].as_slice();
    let mut all = [""; 3 + CRCS.len()];
    let mut at = 0;
    while let [first, rest @ ..] = names {
        all[at] = first;
        (at, names) = (at + 1, rest);
    }
    while at < all.len() {
        all[at] = CRCS[at - 3].0;
        at += 1;
    }
    all
};
static CHOICES: [&str; 3 + CRCS.len()] = NAMES;

/// What a hash is of: a field for each, with names that are theirs alone.
pub fn fields(info: &P4Info, hashed: &[HashField]) -> Vec<Field> {
    let mut constants = 0;
    let fields = (1..).zip(hashed).map(|(id, own)| {
        let leaf = leaves(info, &own.data, "", id).into_iter().next();
        let kind = leaf.map_or(FieldType::bytes(0), |leaf| leaf.field_type);
        let mut made = field(id, &own.name, kind);
        if own.is_constant {
            let width = made.field_type.width();
            made.name = format!("constant{constants}_{width}_{}", own.name);
            made.annotations.push(Annotation {
                name: CONSTANT.to_string(),
                value: None,
            });
            constants += 1;
        }
        made
    });
    fields.collect()
}

fn count(bits: u32, default: u64) -> FieldType {
    FieldType::Uint {
        bits,
        default: Some(default),
    }
}

/// The slices of a field that are hashed.
pub fn slices(own: &Field) -> Data {
    let width = own.field_type.width();
    let parts = vec![
        optional(field(fields::HASH_START_BIT, "start_bit", count(64, 0))),
        optional(field(fields::HASH_LENGTH, "length", count(64, width))),
        mandatory(vec![field(
            fields::HASH_ORDER,
            "order",
            FieldType::uint(64),
        )]),
    ];
    let slices = list(own.id, &own.name, FieldType::Container(parts));
    optional(Field {
        annotations: own.annotations.clone(),
        ..slices
    })
}

/// What is the same for all algorithms.
pub fn settings() -> Vec<Data> {
    let no = || FieldType::Bool {
        default: Some(false),
    };
    vec![
        optional(field(fields::HASH_ROTATE, "rotate", count(32, 0))),
        optional(field(fields::HASH_SEED, "seed", count(32, 0))),
        optional(field(fields::HASH_MSB, "msb", no())),
        optional(field(fields::HASH_EXTEND, "extend", no())),
    ]
}

/// Ids of what clients say of an algorithm: its name; or the parts of a CRC.
pub const NAME: u32 = 1;
pub const REVERSE: u32 = 1;
pub const POLYNOMIAL: u32 = 2;
pub const INITIAL: u32 = 3;
pub const FINAL_XOR: u32 = 4;
pub const WIDTH: u32 = 5;

pub fn algorithms() -> Vec<ActionSpec> {
    let action = |id, name: &str, data| ActionSpec {
        id,
        name: name.to_string(),
        scope: Scope::TableAndDefault,
        annotations: Vec::new(),
        data,
    };
    let names = FieldType::Text {
        choices: &CHOICES,
        default: Some("RANDOM"),
    };
    let no = FieldType::Bool {
        default: Some(false),
    };
    let parts = vec![
        field(REVERSE, "reverse", no),
        field(POLYNOMIAL, "polynomial", FieldType::uint(64)),
        field(INITIAL, "init", count(64, 0)),
        field(FINAL_XOR, "final_xor", count(64, 0)),
        field(WIDTH, "hash_bit_width", FieldType::uint(64)),
    ];
    vec![
        action(
            fields::HASH_PRE_DEFINED,
            "pre_defined",
            vec![field(NAME, "algorithm_name", names)],
        ),
        action(fields::HASH_USER_DEFINED, "user_defined", parts),
    ]
}

/// The values to hash: all fields but constants.
pub fn key(fields: &[Field]) -> Vec<KeyField> {
    let fields = fields.iter().filter(|own| own.annotations.is_empty());
    let fields = (1..).zip(fields).map(|(id, own)| KeyField {
        mandatory: false,
        field_type: own.field_type.clone(),
        ..number(id, &own.name, 0)
    });
    fields.collect()
}

/// `width` is how many bits of the result the program takes.
pub fn value(width: Option<u32>) -> Data {
    let kind = FieldType::bytes(width.unwrap_or(0) as i32);
    Data {
        read_only: true,
        ..optional(field(fields::HASH_VALUE, "hash_value", kind))
    }
}
