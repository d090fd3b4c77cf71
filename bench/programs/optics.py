"""Light and pictures."""

from __future__ import annotations

import numpy as np

from bench.programs.declare import program


@program(
    "Radiative transfer through layers, transmission by np.cumprod",
    full={"layers": 100, "wavelengths": 500},
    tiny={"layers": 4, "wavelengths": 3},
)
def radiative_transfer(rng, layers, wavelengths):
    cross_section = rng.exponential(size=wavelengths)
    temperature = np.linspace(290, 210, layers)
    frequency = np.linspace(0.5, 3.0, wavelengths)
    seen = rng.random(wavelengths)

    def misfit(log_density, cross_section, frequency, temperature, seen):
        depth = np.outer(np.exp(log_density), cross_section) / len(log_density)
        through = np.exp(-depth)
        above = np.cumprod(through[::-1], axis=0)[::-1]
        above = np.concatenate([above[1:], np.ones((1, depth.shape[1]))])
        planck = frequency**3 / np.expm1(frequency * 250.0 / temperature[:, None])
        radiance = np.sum(planck * (1 - through) * above, axis=0)
        return np.mean((radiance + 0.5 * through[0] * above[0] - seen) ** 2)

    arguments = (cross_section, frequency, temperature, seen)
    return misfit, (0.3 * rng.normal(size=layers), *arguments)


@program(
    "Deblurring of a picture with total variation",
    full={"size": 128, "kernel": 5},
    tiny={"size": 7, "kernel": 3},
)
def total_variation_deblurring(rng, size, kernel):
    taps = np.outer(np.hanning(kernel + 2), np.hanning(kernel + 2))[1:-1, 1:-1]
    taps /= taps.sum()
    blurred = rng.random((size - kernel + 1, size - kernel + 1))

    def loss(picture, taps, blurred):
        height, width = blurred.shape
        model = np.zeros_like(blurred)
        for i in range(kernel):
            for j in range(kernel):
                model += taps[i, j] * picture[i : i + height, j : j + width]
        dx = picture[1:, :-1] - picture[:-1, :-1]
        dy = picture[:-1, 1:] - picture[:-1, :-1]
        return 0.5 * np.sum((model - blurred) ** 2) + 0.1 * np.sum(np.sqrt(dx**2 + dy**2 + 1e-4))

    return loss, (rng.random((size, size)), taps, blurred)


@program(
    "Phase retrieval from intensities, complex sensing matrix",
    full={"pixels": 128, "measurements": 512},
    tiny={"pixels": 3, "measurements": 7},
)
def phase_retrieval(rng, pixels, measurements):
    shape = (measurements, pixels)
    sensing = (rng.normal(size=shape) + 1j * rng.normal(size=shape)) / np.sqrt(2 * pixels)
    truth = rng.normal(size=pixels) + 1j * rng.normal(size=pixels)
    intensity = np.abs(sensing @ truth) ** 2

    def loss(parts, sensing, intensity):
        amplitude, phase = parts
        wave = sensing @ (amplitude * np.exp(1j * phase))
        return np.mean((np.abs(wave) ** 2 - intensity) ** 2)

    return loss, ((1 + 0.1 * rng.normal(size=pixels), rng.normal(size=pixels)), sensing, intensity)


@program(
    "Reflectance of a stack of thin films, complex 2 x 2 matrices",
    full={"films": 12, "wavelengths": 200},
    tiny={"films": 2, "wavelengths": 3},
)
def thin_films(rng, films, wavelengths):
    wavelength = np.linspace(0.4, 0.8, wavelengths)
    index = np.where(np.arange(films) % 2, 1.46, 2.35)

    def transmitted(log_thickness, wavelength, index):
        thickness = np.exp(log_thickness)
        one, other = np.ones(len(wavelength), complex), np.ones(len(wavelength)) * 1.52
        for n, d in zip(index, thickness, strict=True):
            delta = 2 * np.pi * n * d / wavelength
            c, s = np.cos(delta), 1j * np.sin(delta)
            one, other = c * one + s * other / n, n * s * one + c * other
        r = (one - other) / (one + other)
        return np.mean((1 - np.abs(r) ** 2 - 0.5) ** 2)

    return transmitted, (np.log(0.1 + 0.02 * rng.random(films)), wavelength, index)


@program(
    "Stars of a picture fitted by Gaussian spots",
    full={"stars": 30, "size": 64},
    tiny={"stars": 2, "size": 5},
)
def star_spots(rng, stars, size):
    image = rng.poisson(5.0, size=(size, size)).astype(float)
    y, x = np.mgrid[:size, :size]

    def negative_log_likelihood(params, image, x, y):
        model = np.full(image.shape, 1.0) * np.exp(params["background"])
        for k in range(len(params["x"])):
            r2 = (x - params["x"][k]) ** 2 + (y - params["y"][k]) ** 2
            model = model + np.exp(params["flux"][k] - 0.5 * r2 * np.exp(-2 * params["width"]))
        return np.sum(model - image * np.log(model))

    params = {
        "background": 1.0,
        "x": rng.uniform(0, size, stars),
        "y": rng.uniform(0, size, stars),
        "flux": rng.normal(size=stars),
        "width": 0.5,
    }
    return negative_log_likelihood, (params, image, x, y)
