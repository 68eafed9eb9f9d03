/** Who counts the values that a template's functions look at: one value may hold another a million times over. Set while a template runs. */
export const walking: { visit?: ((bytes: number) => void) | undefined } = {};

export const visit = (bytes = 0): void => walking.visit?.(bytes);
