"""Counters, meters, registers and value sets: other calls of the service `standard`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from p4lab.model.entries import Exact, MeterCell, RegisterCell, Update
from p4lab.model.state import FillMeter, FillRegister, Rates, SetCounter, SetValueSet, Write
from p4lab.thrift.desk import Desk, kind
from p4lab.thrift.interface import (
    TYPES,
    CounterCode,
    CounterRefused,
    CrcCode,
    CrcRefused,
    MeterCode,
    MeterRefused,
    RegisterCode,
    RegisterRefused,
    ValueSetCode,
    ValueSetRefused,
)
from p4lab.thrift.meters import rates_of, rates_told
from p4lab.thrift.values import signed

Known = TypeVar("Known")


class Cells:
    """Their calls."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._runtime = desk.runtime
        self._value_sets: dict[str, list[bytes]] = {}

    def bm_counter_read(self, _: int, counter: str, index: int) -> Any:
        packets, count = self._runtime.counter(counter, self._counter(counter, index))
        return TYPES["Count"](signed(count), signed(packets))

    def bm_counter_reset_all(self, _: int, counter: str) -> None:
        _known(self._desk.facts.counters, counter, CounterRefused(CounterCode.INVALID_NAME))
        self._runtime.write([SetCounter(counter, None, 0, 0)])

    def bm_counter_write(self, _: int, counter: str, index: int, value: Any) -> None:
        cell = self._counter(counter, index)
        packets, count = (part & (2**64 - 1) for part in (value.packets, value.bytes))
        self._runtime.write([SetCounter(counter, cell, packets, count)])

    def bm_meter_array_set_rates(self, _: int, meter: str, rates: list[Any]) -> None:
        _known(self._desk.facts.meters, meter, MeterRefused(MeterCode.INVALID_NAME))
        self._runtime.write([FillMeter(meter, _rates(rates))])

    def bm_meter_set_rates(self, _: int, meter: str, index: int, rates: list[Any]) -> None:
        cell = self._meter(meter, index)
        self._runtime.write([Update("modify", MeterCell(meter, cell, *_rates(rates)))])

    def bm_meter_get_rates(self, _: int, meter: str, index: int) -> list[Any]:
        return rates_told(self._runtime.meter(meter, self._meter(meter, index)))

    def bm_register_read(self, _: int, register: str, index: int) -> int:
        self._register(register)
        try:
            return signed(self._runtime.register(register, self._index(index)))
        except ValueError as error:
            raise RegisterRefused(_register_code(error)) from error

    def bm_register_read_all(self, _: int, register: str) -> list[int]:
        self._register(register)
        return [signed(value) for value in self._runtime.registers(register)]

    def bm_register_write(self, _: int, register: str, index: int, value: int) -> None:
        self._set_cells(register, range(index, index + 1), value)

    def bm_register_write_range(
        self, _: int, register: str, start: int, end: int, value: int
    ) -> None:
        if start > end:
            raise RegisterRefused(RegisterCode.INVALID_INDEX)
        self._set_cells(register, range(start, end), value)

    def bm_register_reset(self, _: int, register: str) -> None:
        self._register(register)
        self._runtime.write([FillRegister(register, 0)])

    def bm_parse_vset_add(self, _: int, value_set: str, value: bytes) -> None:
        members = self._members(value_set)
        if value not in members:
            self._set_members(value_set, [*members, value])

    def bm_parse_vset_remove(self, _: int, value_set: str, value: bytes) -> None:
        members = self._members(value_set)
        self._set_members(value_set, [member for member in members if member != value])

    def bm_parse_vset_get(self, _: int, value_set: str) -> list[bytes]:
        return self._members(value_set)

    def bm_parse_vset_clear(self, _: int, value_set: str) -> None:
        self._members(value_set)
        self._set_members(value_set, [])

    def bm_set_crc16_custom_parameters(self, _: int, calculation: str, parameters: Any) -> None:
        self._set_crc(calculation, 16, parameters)

    def bm_set_crc32_custom_parameters(self, _: int, calculation: str, parameters: Any) -> None:
        self._set_crc(calculation, 32, parameters)

    def bm_set_toeplitz_hash_key(self, _: int, calculation: str, key: bytes) -> None:
        """v1model has no such hash, so that no calculation has this name."""
        raise CrcRefused(CrcCode.INVALID_NAME)

    def reset(self) -> list[Write]:
        """The updates that empty everything here."""
        own = self._desk.facts
        self._value_sets.clear()
        return [
            *(SetCounter(name, None, 0, 0) for name in own.counters),
            *(FillMeter(name, None) for name in own.meters),
            *(FillRegister(name, 0) for name in own.registers),
            *(SetValueSet(name, ()) for name in own.value_sets),
        ]

    def _counter(self, counter: str, index: int) -> int:
        size = _known(self._desk.facts.counters, counter, CounterRefused(CounterCode.INVALID_NAME))
        if not 0 <= index < size:
            raise CounterRefused(CounterCode.INVALID_INDEX)
        return index

    def _meter(self, meter: str, index: int) -> int:
        size = _known(self._desk.facts.meters, meter, MeterRefused(MeterCode.INVALID_NAME))
        if not 0 <= index < size:
            raise MeterRefused(MeterCode.INVALID_INDEX)
        return index

    def _register(self, register: str) -> int:
        refused = RegisterRefused(RegisterCode.INVALID_NAME)
        return _known(self._desk.facts.registers, register, refused)

    @staticmethod
    def _index(index: int) -> int:
        if index < 0:
            raise RegisterRefused(RegisterCode.INVALID_INDEX)
        return index

    def _set_cells(self, register: str, cells: range, value: int) -> None:
        """Writes all of them or none; a value is cut to the register's width, as in bmv2."""
        cut = value & ((1 << self._register(register)) - 1)
        self._index(cells.start)
        if cells:
            self.bm_register_read(0, register, cells[-1])
        try:
            written = (RegisterCell(register, index, cut) for index in cells)
            self._runtime.write([Update("modify", cell) for cell in written])
        except ValueError as error:
            raise RegisterRefused(_register_code(error)) from error

    def _members(self, value_set: str) -> list[bytes]:
        refused = ValueSetRefused(ValueSetCode.INVALID_NAME)
        _known(self._desk.facts.value_sets, value_set, refused)
        return self._value_sets.get(value_set, [])

    def _set_members(self, value_set: str, members: list[bytes]) -> None:
        widths = self._desk.facts.value_sets[value_set]
        fields = tuple(_split(member, widths) for member in members)
        try:
            self._runtime.write([SetValueSet(value_set, fields)])
        except ValueError as error:
            raise ValueSetRefused(ValueSetCode.OTHER) from error
        self._value_sets[value_set] = members

    def _set_crc(self, calculation: str, width: int, given: Any) -> None:
        own = self._desk.facts.crcs.get(calculation)
        if own is None:
            raise CrcRefused(CrcCode.INVALID_NAME)
        if own != width:
            raise CrcRefused(CrcCode.WRONG_TYPE)
        bits = (1 << width) - 1
        numbers = (given.polynomial & bits, given.initial & bits, given.xor & bits)
        self._runtime.set_crc(
            calculation,
            width,
            *numbers,
            reflect_data=given.reflect_data,
            reflect_remainder=given.reflect_remainder,
        )


def _known(names: Mapping[str, Known], name: str, refused: Exception) -> Known:
    if name not in names:
        raise refused
    return names[name]


def _register_code(error: ValueError) -> RegisterCode:
    return RegisterCode.INVALID_INDEX if kind(error) == "index" else RegisterCode.OTHER


def _rates(given: list[Any]) -> Rates:
    """Raises MeterRefused."""
    rates = rates_of(given)
    if not isinstance(rates, Rates):
        raise MeterRefused(rates)
    return rates


def _split(member: bytes, widths: tuple[int, ...]) -> tuple[Exact, ...]:
    """A value set's member, whose fields come one behind the other, without gaps."""
    value = int.from_bytes(member, "big")
    if value >> sum(widths):
        raise ValueSetRefused(ValueSetCode.OTHER)
    fields = []
    for width in reversed(widths):
        fields.append(Exact(value & ((1 << width) - 1)))
        value >>= width
    return tuple(fields[::-1])
